"""Policies of the agents of a Godot game, one for each kind of agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field

from ambulo.configs.agent_spec import AgentSpec
from ambulo.configs.errors import ModelFileError
from ambulo.configs.godot import GodotConfig
from ambulo.policies.files.headers import FileHeader, Shapes, Size
from ambulo.policies.files.spec import ModelSpec

if TYPE_CHECKING:
    from ambulo.policies.networks.kinds_policy import KindsPolicy

RETURNS = "returns."
"""Beginning of the names of the statistics of returns among the weights."""


class GameMetadata(FileHeader):
    """The contents of `ambulo.json` in a file of the policies of a game."""

    kind: Literal["game"] = "game"
    """What the model does."""
    num_timesteps: Size = 0
    """Steps of agents of its training."""
    config: Annotated[GodotConfig, AfterValidator(GodotConfig.shareable)]
    """How it was trained; never where the game was."""
    agents: Annotated[tuple[AgentSpec, ...], Field(min_length=1, max_length=64)]
    """What each kind of agent observes and does, in the order of the policies."""
    action_repeat: Annotated[int, Field(ge=1, le=1000)] = 8
    """Physics ticks of a step."""

    def checked(self, source: str) -> Self:
        """Refuse two kinds of one name."""
        names = [kind.name for kind in self.agents]
        if len(set(names)) < len(names):
            raise ModelFileError(f"{source}: agents: two kinds of one name: {names}")
        return self

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Shapes of the policies that configuration and kinds give.

        Files that are older than the statistics of returns lack them.
        """
        from ambulo.policies.files.network_shapes import shapes_of

        shapes = shapes_of(self.new_policy)
        return {
            n: s for n, s in shapes.items() if n in stored or not n.startswith(RETURNS)
        }

    def new_policy(self) -> KindsPolicy:
        """Return the policies with fresh weights; random generators stay as they are."""
        import torch

        from ambulo.policies.networks.kinds_policy import make_kinds_policy

        with torch.random.fork_rng(devices=[]):
            return make_kinds_policy(self.agents, self.config.network)


def _headline(header: GameMetadata) -> str:
    kinds = ", ".join(kind.name for kind in header.agents)
    return f"{kinds}: {header.num_timesteps:,} steps"


SPEC = ModelSpec(
    kind="game",
    summary="plays the agents of a Godot game: named observations to named actions",
    header=GameMetadata,
    loader="ambulo.policies.agents.game:load_game_agent",
    headline=_headline,
    writers={
        "onnx": "ambulo.policies.export.games:export_onnx",
        "godot": "ambulo.policies.export.games:export_godot",
        "godot-rl": "ambulo.policies.export.games:export_godot_rl",
    },
)
