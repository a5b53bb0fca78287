"""Policies of VR navigation: what a headset's wearer does, from what it senses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

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

_ACTIONS = {"continuous": 3, "discrete": 7}
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
    """What the model does."""
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
        network = self.config.network
        last = network.net_arch[-1]
        shapes = self.actor_shapes()
        shapes["mlp_extractor.scales"] = scales
        critic = "mlp_extractor.critic"
        shapes |= _layers(critic, scales[0], network.net_arch)
        shapes |= {"value_net.weight": (1, last), "value_net.bias": (1,)}
        if "route_net.bias" in stored:
            targets = stored["route_net.bias"]
            shapes["route_net.weight"] = (*targets, self.latent_size)
            shapes["route_net.bias"] = targets
        return shapes

    def actor_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each weight that acting needs, by name."""
        network, prefix = self.config.network, "mlp_extractor.actor"
        widths, units = network.net_arch, network.recurrent
        if units == 0:
            shapes = _layers(prefix, self.observation_size, widths)
        else:
            shapes = _layers(f"{prefix}.first", self.observation_size, widths[:1])
            shapes |= _gru(f"{prefix}.gru", widths[0], units)
            shapes |= _layers(f"{prefix}.rest", units, widths[1:])
        shapes["action_net.weight"] = (self.action.size, self.latent_size)
        shapes["action_net.bias"] = (self.action.size,)
        if self.action.mode == "continuous":
            shapes["log_std"] = (self.action.size,)
        return shapes

    @property
    def latent_size(self) -> int:
        """Numbers that the last layer of the actor sees."""
        network = self.config.network
        if network.recurrent > 0 and len(network.net_arch) == 1:
            return network.recurrent
        return network.net_arch[-1]


def _layers(
    prefix: str, inputs: int, widths: Sequence[int]
) -> dict[str, tuple[int, ...]]:
    """Shapes of hidden layers; an activation stands between two linear layers."""
    shapes: dict[str, tuple[int, ...]] = {}
    for i, width in enumerate(widths):
        shapes[f"{prefix}.{2 * i}.weight"] = (width, inputs)
        shapes[f"{prefix}.{2 * i}.bias"] = (width,)
        inputs = width
    return shapes


def _gru(prefix: str, inputs: int, units: int) -> dict[str, tuple[int, ...]]:
    """Shapes of a GRU: reset, update and new gate, one after another."""
    return {
        f"{prefix}.weight_ih": (3 * units, inputs),
        f"{prefix}.weight_hh": (3 * units, units),
        f"{prefix}.bias_ih": (3 * units,),
        f"{prefix}.bias_hh": (3 * units,),
    }


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
