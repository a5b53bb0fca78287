"""Gait and body parameters: named values with ranges, and their meaning in metres.

The lists follow Park et al., "Generative GaitNet", SIGGRAPH 2022, and the authors' code (the
reference): 2 numbers of the gait, 9 lengths, 2 torsions, and for bodies with muscles a length
and a force of each muscle group and side. Ratios are relative to a healthy adult.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError, GaitParameterError, nearest
from ambulo.configs.json_text import json_value

Group = Literal["gait", "skeleton", "torsion", "muscle_length", "muscle_force"]

GROUPS: tuple[Group, ...] = get_args(Group)
"""Kinds of parameters, in their order."""
KNOWN: tuple[Group, ...] = ("gait", "skeleton", "torsion")
"""Kinds that can be measured on a person and are inputs of an estimator."""
LIMBS = ("femur", "tibia", "arm", "forearm")
"""Limbs whose length is a parameter, on each side."""
SIDES = ("left", "right")
"""Sides of the body."""
SAMPLE_NOISE = 0.025
"""Standard deviation of the noise on sampled parameters, normalised."""
GRID = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Normalised values from which gait, global size and torsions are sampled."""
TOLERANCE = 1e-9
"""Tolerance for rounding at the ends of a range, as a fraction of the range."""

MUSCLE_GROUPS: dict[str, tuple[str, ...]] = {
    "iliopsoas": ("iliacus", "psoas"),
    "rectus_femoris": ("recfem",),
    "sartorius": ("sart",),
    "tensor_fasciae_latae": ("tfl",),
    "gluteus_maximus": ("glmax?",),
    "gluteus_medius": ("glmed?", "glmin?", "piri"),
    "adductors": ("add*", "grac"),
    "hamstrings": ("bflh", "semimem", "semiten"),
    "biceps_femoris_short": ("bfsh",),
    "vasti": ("vas*",),
    "gastrocnemius": ("gaslat", "gasmed"),
    "soleus": ("soleus",),
    "tibialis_anterior": ("tibant",),
    "tibialis_posterior": ("tibpost",),
    "peronei": ("perbrev", "perlong"),
    "toe_extensors": ("edl", "ehl"),
    "toe_flexors": ("fdl", "fhl"),
}
"""Muscles of myolegs by function: name patterns without the side."""

SHORTEST: dict[str, float] = {
    "iliopsoas": 0.66, "gluteus_maximus": 0.72, "gluteus_medius": 0.72,
    "adductors": 0.72, "biceps_femoris_short": 0.635, "vasti": 0.78,
    "gastrocnemius": 0.76, "soleus": 0.83, "tibialis_anterior": 0.74,
    "tibialis_posterior": 0.75, "peronei": 0.75, "toe_extensors": 0.74,
    "toe_flexors": 0.75,
}  # fmt: skip
"""Smallest length of each group relative to healthy, as in the reference (the smallest of its
muscles)."""
SHORTEST_ELSE = 0.75
"""Smallest length of groups without a muscle in the reference (our choice)."""
WEAKEST = 0.05
"""Smallest force of a group relative to healthy, as in the reference."""


@dataclass(frozen=True)
class GaitParameter:
    """One number that describes a gait or a body."""

    name: str
    """Unique in its space, such as `femur_length_left`."""
    low: float
    """Smallest value."""
    high: float
    """Largest value."""
    default: float
    """Value of a healthy adult."""
    group: Group
    """Kind of parameter."""

    def __post_init__(self) -> None:
        """Raise `ConfigError` for an empty range or an unknown kind."""
        if not isinstance(self.name, str) or not all(
            type(number) in (int, float) and math.isfinite(number)
            for number in (self.low, self.high, self.default)
        ):
            raise ConfigError(
                f"gait parameter {self.name!r:.40}: needs a name and finite numbers"
            )
        if self.group not in GROUPS:
            raise ConfigError(
                f"gait parameter {self.name}: unknown group {self.group!r}"
                f"{nearest(self.group, GROUPS)}"
            )
        if not self.low < self.high or not self.low <= self.default <= self.high:
            raise ConfigError(
                f"gait parameter {self.name}: needs low < high and low <= default <= "
                f"high, got {self.low:g}, {self.default:g}, {self.high:g}"
            )


@dataclass(frozen=True)
class GaitSpace:
    """P parameters in a fixed order; two spaces with the same content are equal."""

    name: str
    """Name of the body."""
    parameters: tuple[GaitParameter, ...]
    """The P parameters."""

    def __post_init__(self) -> None:
        """Raise `ConfigError` for no parameter, or two of the same name."""
        names = [parameter.name for parameter in self.parameters]
        if not names or len(set(names)) != len(names):
            raise ConfigError(f"gait space {self.name}: names must be there and differ")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def size(self) -> int:
        """Number of parameters, P."""
        return len(self.parameters)

    @cached_property
    def low(self) -> Floats:
        """Smallest values. Shape (P,)."""
        return _constant([parameter.low for parameter in self.parameters])

    @cached_property
    def high(self) -> Floats:
        """Largest values. Shape (P,)."""
        return _constant([parameter.high for parameter in self.parameters])

    @cached_property
    def default(self) -> Floats:
        """A healthy adult's values. Shape (P,)."""
        return _constant([parameter.default for parameter in self.parameters])

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Mask of the parameters that can be measured on a person. Shape (P,)."""
        mask = np.array([parameter.group in KNOWN for parameter in self.parameters])
        mask.setflags(write=False)
        return mask

    def index(self, name: str) -> int:
        """Return the index of a parameter.

        Raises:
            GaitParameterError: The name is unknown.
        """
        if name not in self.names:
            raise GaitParameterError(
                f"{self.name} has no gait parameter {name!r}{nearest(name, self.names)}"
            )
        return self.names.index(name)

    def normalize(self, values: ArrayLike) -> Floats:
        """Return values (..., P) scaled to [0, 1] by their ranges."""
        return np.asarray((self._sized(values) - self.low) / (self.high - self.low))

    def denormalize(self, normalized: ArrayLike) -> Floats:
        """The inverse of `normalize`. Shape (..., P)."""
        return np.asarray(self.low + self._sized(normalized) * (self.high - self.low))

    def check(self, values: ArrayLike) -> None:
        """Refuse values (..., P) outside their ranges.

        Raises:
            GaitParameterError: Names the first that is out of range or not finite.
        """
        rows = self._sized(values).reshape(-1, self.size)
        slack = TOLERANCE * (self.high - self.low)
        good = (rows >= self.low - slack) & (rows <= self.high + slack)
        if good.all():
            return
        row, column = (int(place[0]) for place in np.nonzero(~good))
        bad = self.parameters[column]
        raise GaitParameterError(
            f"{bad.name} = {rows[row, column]:g}: must be in [{bad.low:g}, {bad.high:g}]"
        )

    def vector(self, **named: float) -> Floats:
        """Return the defaults, with the named values replaced. Shape (P,).

        Raises:
            GaitParameterError: A name is unknown, or a value out of range.
        """
        values = self.default.copy()
        for name, value in named.items():
            values[self.index(name)] = value
        self.check(values)
        return values

    def named(self, values: ArrayLike) -> dict[str, float]:
        """Return values (P,) as a dict by name."""
        row = self._sized(values)
        return dict(zip(self.names, row.tolist(), strict=True))

    def sample(self, rng: np.random.Generator, count: int) -> Floats:
        """Sample vectors as in the reference. Shape (count, P).

        Gait, global size and torsions take multiples of a quarter of their range, all others
        one of its ends; then normal noise of 0.025 of the range is added, and clipped.
        """
        places = np.where(
            self._on_grid,
            rng.choice(GRID, (count, self.size)),
            rng.integers(0, 2, (count, self.size)),
        )
        noisy = places + rng.normal(0.0, SAMPLE_NOISE, places.shape)
        return self.denormalize(np.clip(noisy, 0.0, 1.0))

    def mirror(self, values: ArrayLike) -> Floats:
        """Return values (..., P) of the mirrored body, left and right exchanged.

        Torsions are positive inwards on both sides, so they keep their sign.
        """
        return self._sized(values)[..., self._other_side]

    def difference(self, other: GaitSpace) -> str:
        """Describe how `other` differs; empty if it does not."""
        mine = {parameter.name: parameter for parameter in self.parameters}
        theirs = {parameter.name: parameter for parameter in other.parameters}
        parts = []
        if missing := [name for name in mine if name not in theirs]:
            parts.append(f"it lacks {_listed(missing)}")
        if added := [name for name in theirs if name not in mine]:
            parts.append(f"it also has {_listed(added)}")
        changed = [
            f"{name} ({_range(theirs[name])} instead of {_range(parameter)})"
            for name, parameter in mine.items()
            if name in theirs and theirs[name] != parameter
        ]
        if changed:
            parts.append(f"others are {_listed(changed)}")
        if not parts and self.names != other.names:
            parts.append("the order of its parameters is another")
        if not parts and self.name != other.name:
            parts.append(f"it is for {other.name}, not {self.name}")
        return "; ".join(parts)

    def to_json(self) -> str:
        """The space as JSON text."""
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def from_json(text: str | Mapping[str, Any]) -> GaitSpace:
        """The space in JSON text, or in its parsed data.

        Raises:
            ConfigError: The text describes no space.
        """
        try:
            data = json_value(text) if isinstance(text, str) else text
            return GaitSpace(
                str(data["name"]),
                tuple(GaitParameter(**entry) for entry in data["parameters"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"no gait space: {error}") from None

    @cached_property
    def _on_grid(self) -> NDArray[np.bool_]:
        """Mask of the parameters sampled on a grid, not at the ends. Shape (P,)."""
        return np.array(
            [
                parameter.group in ("gait", "torsion") or parameter.name == "global"
                for parameter in self.parameters
            ]
        )

    @cached_property
    def _other_side(self) -> NDArray[np.int64]:
        """Index of each parameter's counterpart on the other side. Shape (P,)."""
        left, right = (f"_{side}" for side in SIDES)
        twins = {
            name: name.removesuffix(left) + right
            if name.endswith(left)
            else name.removesuffix(right) + left
            if name.endswith(right)
            else name
            for name in self.names
        }
        return np.array([self.index(twins[name]) for name in self.names])

    def _sized(self, values: ArrayLike) -> Floats:
        array = np.asarray(values, dtype=np.float64)
        if not array.ndim or array.shape[-1] != self.size:
            raise GaitParameterError(
                f"gait parameters: expected (..., {self.size}) numbers of {self.name}, "
                f"got {array.shape}"
            )
        return array


def _constant(values: Sequence[float]) -> Floats:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def _range(parameter: GaitParameter) -> str:
    return f"{parameter.low:g} to {parameter.high:g}, default {parameter.default:g}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:6])
    return shown + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _body_parameters() -> tuple[GaitParameter, ...]:
    """The 13 parameters of every body."""
    return (
        GaitParameter("stride", 0.75, 1.25, 1.0, "gait"),
        GaitParameter("cadence", 0.75, 1.25, 1.0, "gait"),
        GaitParameter("global", 0.85, 1.0, 1.0, "skeleton"),
        *(
            GaitParameter(f"{limb}_length_{side}", 0.9, 1.0, 1.0, "skeleton")
            for limb in LIMBS
            for side in SIDES
        ),
        *(
            GaitParameter(f"femur_torsion_{side}", -0.55, 0.55, 0.0, "torsion")
            for side in SIDES
        ),
    )


def _muscle_parameters() -> tuple[GaitParameter, ...]:
    """Length and force of each muscle group and side."""
    lengths = [
        GaitParameter(
            f"length_{group}_{side}",
            SHORTEST.get(group, SHORTEST_ELSE),
            1.0,
            1.0,
            "muscle_length",
        )
        for group in MUSCLE_GROUPS
        for side in SIDES
    ]
    forces = [
        GaitParameter(f"force_{group}_{side}", WEAKEST, 1.0, 1.0, "muscle_force")
        for group in MUSCLE_GROUPS
        for side in SIDES
    ]
    return (*lengths, *forces)


GAIT_SPACES: dict[str, GaitSpace] = {
    "human23": GaitSpace("human23", _body_parameters()),
    "myolegs": GaitSpace("myolegs", (*_body_parameters(), *_muscle_parameters())),
}
"""Every space by the name of its body."""


def gait_space(name: str) -> GaitSpace:
    """The space of the body `name`; `ConfigError` lists the valid names."""
    if name not in GAIT_SPACES:
        raise ConfigError(f"unknown gait space {name!r}{nearest(name, GAIT_SPACES)}")
    return GAIT_SPACES[name]
