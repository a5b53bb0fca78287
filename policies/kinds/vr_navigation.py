"""Policies of VR navigation: what a headset's wearer does, from what it senses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.errors import ModelFileError
from ambulo.configs.vr import NavigationConfig
from ambulo.policies.files.headers import (
    DescribedLayout,
    FileHeader,
    ObservationPart,
    Shapes,
    Size,
    parts_of,
    size_of,
    stamp,
)
from ambulo.policies.files.raw_headers import SB3_ZIP
from ambulo.policies.files.spec import ModelSpec

if TYPE_CHECKING:
    from ambulo.policies.networks.actor_critic import NavigationPolicy

_ACTIONS = {"continuous": 3, "discrete": 7}
ACTOR = ("mlp_extractor.actor.", "action_net.", "log_std")
"""How the names of weights begin that acting needs."""
_MEANINGS = {
    "continuous": ("strafe", "forward", "rotation"),
    "discrete": (
        "forward", "back", "left", "right", "turn_left", "turn_right", "idle",
    ),
}  # fmt: skip


class ActionRow(Config):
    """The output of the policy."""

    mode: Literal["continuous", "discrete"]
    """Numbers in [-1, 1], or scores of classes."""
    size: Size
    """Numbers, or classes."""
    names: tuple[str, ...]
    """Meaning of each."""


class NavigationMetadata(FileHeader):
    """The contents of `ambulo.json`."""

    kind: Literal["vr_navigation"] = "vr_navigation"
    """Kind of the model."""
    num_timesteps: Size = 0
    """Environment steps of its training."""
    config: Annotated[NavigationConfig, AfterValidator(NavigationConfig.shareable)]
    """How it was trained; never where the engines were, whatever a file says."""
    observation: tuple[ObservationPart, ...]
    """Parts of its observation."""
    observation_size: Annotated[int, Field(ge=1)]
    """Length of its observation."""
    action: ActionRow
    """Its output."""
    ignored_weights: ClassVar[tuple[str, ...]] = ("lost_net.",)

    @model_validator(mode="before")
    @classmethod
    def _without_lost_head(cls, data: Any) -> Any:
        """Drop `lost`, with which older files described weights that are ignored now."""
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if key != "lost"}

    def checked(self, source: str) -> Self:
        """Refuse parts with gaps, and an action other than the configured one."""
        at = size_of(self.observation, source)
        if at != self.observation_size:
            raise ModelFileError(
                f"{source}: the parts make {at} numbers, "
                f"observation_size is {self.observation_size}"
            )
        mode, action = self.config.actions.mode, self.action
        if action.mode != mode or action.size != _ACTIONS[mode]:
            raise ModelFileError(
                f"{source}: action does not fit actions.mode = {mode!r}"
            )
        return self

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Shapes of actor and critic; the critic's input is as long as the scales."""
        scales = stored.get("mlp_extractor.scales", ())
        if len(scales) != 1 or scales[0] < self.observation_size:
            raise ModelFileError(
                f"{source}: mlp_extractor.scales: expected "
                f"{self.observation_size} or more"
            )
        from ambulo.policies.files.network_shapes import shapes_of

        shapes = shapes_of(lambda: self.new_policy(scales[0]))
        latent = shapes["action_net.weight"][1]
        route = stored.get("route_net.bias")  # older policies have none, or another one
        rest = {k: v for k, v in shapes.items() if not k.startswith("route_net.")}
        if route is None:
            return rest
        return rest | {"route_net.weight": (*route, latent), "route_net.bias": route}

    def actor_shapes(self) -> Shapes:
        """Return the shape of each weight that acting needs, by name."""
        from ambulo.policies.files.network_shapes import shapes_of

        shapes = shapes_of(self.new_policy)
        return {name: shapes[name] for name in shapes if name.startswith(ACTOR)}

    def new_policy(self, inputs: int | None = None) -> NavigationPolicy:
        """Return the policy with fresh weights; random generators stay as they are.

        Args:
            inputs: Numbers that the critic sees; None: those of the observation.
        """
        import torch
        from gymnasium import spaces

        from ambulo.policies.networks.actor_critic import (
            NavigationPolicy,
            navigation_kwargs,
        )
        from ambulo.policies.networks.locomotion_policy import NoOptimizer, no_learning

        count, size = self.action.size, self.observation_size
        moves: spaces.Space[Any] = spaces.Box(-1.0, 1.0, (count,))
        if self.action.mode == "discrete":
            moves = spaces.Discrete(count)
        # A space holds arrays of its size, and a damaged header may say any size.
        unused = spaces.Box(-1.0, 1.0, (1,))
        with torch.random.fork_rng(devices=[]):
            return NavigationPolicy(
                unused, moves, no_learning, optimizer_class=NoOptimizer,
                scales=torch.ones(inputs or size), actor_size=size,
                **navigation_kwargs(self.config.network),
            )  # fmt: skip


def describe(
    config: NavigationConfig,
    layout: DescribedLayout,
    *,
    num_timesteps: int = 0,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> NavigationMetadata:
    """Return the header of a policy trained here and now with `config`."""
    mode = config.actions.mode
    return NavigationMetadata(
        num_timesteps=num_timesteps,
        config=config,
        observation=parts_of(layout),
        observation_size=layout.size,
        action=ActionRow(mode=mode, size=_ACTIONS[mode], names=_MEANINGS[mode]),
        **stamp(command, extra),
    )


def _headline(header: NavigationMetadata) -> str:
    return f"{header.num_timesteps:,} steps, {header.observation_size} observations"


SPEC = ModelSpec(
    kind="vr_navigation",
    summary="navigates in VR: observations to stick values",
    header=NavigationMetadata,
    loader="ambulo.policies.agents.navigation:load_agent",
    headline=_headline,
    formats=(SB3_ZIP,),
    graph="ambulo.policies.export.export:navigation_graph",
    writers={
        "json": "ambulo.policies.export.export:export_json",
        "godot": "ambulo.policies.export.godot:export_godot",
    },
)
