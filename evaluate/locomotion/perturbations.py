"""The standard perturbations: other ground, masses, control delays and starts.

Every agent plays the same episodes under each of them; the policy was not trained anew.
Pushes are apart (`pushes`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.locomotion_env import Course as Kind
from ambulo.configs.variation import VariationConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.simulation.terrain import RAMP, Course
from ambulo.envs.simulation.variants import NOMINAL, Variant, drawn_variants
from ambulo.evaluate.locomotion.evaluation import LocomotionSubject, recorded
from ambulo.evaluate.locomotion.scores import LocomotionScores, score
from ambulo.evaluate.shared.choices import chosen

LONGEST = 10.0
"""Length of a perturbed episode, [s], unless that of an undisturbed one is shorter."""
FRICTION = (0.4, 0.6, 0.8, 1.2)
"""Sliding friction of every contact; the models have 1."""
MASS = 0.2
"""Largest change of the body's mass, and of a segment's, as a fraction."""
BODIES = 8
"""Bodies whose segments have random masses."""
DELAY = (0.010, 0.020, 0.030, 0.040)
"""Time from an action to its effect, [s]; whole substeps act."""
STEPS = (0.02, 0.05)
"""Heights of steps, [m]."""
SLOPES = (2.0, 5.0, 10.0)
"""Angles of slopes, [deg]."""
START = (0.05, 0.5)
"""Standard deviations of starts: joint angles, [rad], and velocities, [rad/s], [m/s]."""
_DRAW = 1
"""Seed of the segments' masses: the same bodies in every evaluation."""


@dataclass(frozen=True)
class Perturbation:
    """One change that all agents are scored under."""

    name: str
    """Row of the table."""
    variants: Sequence[Variant] = (NOMINAL,)
    """Bodies and worlds, among which the episodes are divided."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the environment that differ."""
    missing: str = ""
    """Why this task or body cannot have it; empty: it can."""
    impulse: float = 0.0
    """Impulse of one push at a random moment, [N s]; in episodes that track clips alone."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "variants": [one.numbers() for one in self.variants],
            "settings": dict(self.settings),
            "missing": self.missing or None,
        }


def suite_details(suite: Sequence[Perturbation]) -> dict[str, Any]:
    """Return what differed, as plain JSON; nothing where nothing was tried."""
    found = {one.name: one.to_dict() for one in suite}
    return {"perturbations": found} if found else {}


def suite_notes(suite: Sequence[Perturbation]) -> list[str]:
    """Return what is missing, and why."""
    reasons: dict[str, list[str]] = {}
    for one in suite:
        if one.missing:
            reasons.setdefault(one.missing, []).append(one.name)
    return [f"{reason}: no {', '.join(names)}." for reason, names in reasons.items()]


def _friction(config: LocomotionConfig, character: Character) -> list[Perturbation]:
    return [
        Perturbation(f"friction {value:g}", [Variant(friction=value)])
        for value in FRICTION
    ]


def _mass(config: LocomotionConfig, character: Character) -> list[Perturbation]:
    each = VariationConfig(segment_mass=(1.0 - MASS, 1.0 + MASS))
    drawn = drawn_variants(each, BODIES, character.model.nbody - 1, _DRAW)
    percent = f"{100.0 * MASS:.0f} %"
    return [
        Perturbation(f"mass -{percent}", [Variant(mass=1.0 - MASS)]),
        Perturbation(f"mass +{percent}", [Variant(mass=1.0 + MASS)]),
        Perturbation(f"segments ±{percent}", drawn),
    ]


def _delay(config: LocomotionConfig, character: Character) -> list[Perturbation]:
    env = config.environment
    substep, found = env.control_dt / env.substeps, {}
    for value in DELAY:
        acting = Variant(delay=value).late(substep) * substep
        name = f"delay {1000.0 * acting:.0f} ms"
        found[name] = Perturbation(name, [Variant(delay=acting)])
    return list(found.values())


def _on(
    courses: Mapping[str, Course], config: LocomotionConfig, character: Character
) -> list[Perturbation]:
    """Courses by name, along which a body that follows commands is to walk straight."""
    missing = config.environment.traits.level_only
    if character.spec is None:
        missing = f"{character.name} stands on level ground only"
    return [
        Perturbation(name, [Variant(ground=course)], {"turn": (0.0, 0.0)}, missing)
        for name, course in courses.items()
    ]


def _start(config: LocomotionConfig, character: Character) -> list[Perturbation]:
    angle, rate = START
    noisy = {
        "start_position_noise": angle,
        "start_velocity_noise": rate,
        "start_on_feet": True,
    }
    return [Perturbation(f"start {angle:g} rad, {rate:g} rad/s", settings=noisy)]


_UP_DOWN: dict[str, Kind] = {"up": "steps_up", "down": "steps_down"}
_SLOPED: dict[str, Kind] = {"+": "uphill", "-": "downhill"}
_STEPS = {
    f"steps {way} {100.0 * step:g} cm": Course(kind, step)
    for way, kind in _UP_DOWN.items()
    for step in STEPS
}
_SLOPES = {
    f"slope {sign}{angle:g} deg": Course(kind, RAMP * math.tan(math.radians(angle)))
    for sign, kind in _SLOPED.items()
    for angle in SLOPES
}
GROUPS: dict[str, Callable[[LocomotionConfig, Character], list[Perturbation]]] = {
    "friction": _friction,
    "mass": _mass,
    "delay": _delay,
    "steps": partial(_on, _STEPS),
    "slopes": partial(_on, _SLOPES),
    "start": _start,
}
"""Perturbations of a configuration and its body, by name of the group."""


def chosen_groups(text: str | None) -> tuple[str, ...]:
    """Return the groups named in `--perturb`, all of them for "all", none for None.

    Raises:
        ConfigError: No group has such a name.
    """
    return () if text is None else chosen("--perturb", text, GROUPS, "perturbation")


def suite(
    groups: Sequence[str], config: LocomotionConfig, character: Character
) -> list[Perturbation]:
    """Return the perturbations of `groups`; if any, first none, to compare with."""
    found = [Perturbation("none")] if groups else []
    for group in groups:
        found += GROUPS[group](config, character)
    return found


def perturbed(
    subject: LocomotionSubject,
    perturbation: Perturbation,
    episodes: int,
    *,
    seconds: float = LONGEST,
    seed: int,
    envs: int,
    progress: Callable[[int], None] = lambda count: None,
) -> LocomotionScores | None:
    """Scores of `subject` under a perturbation; None where it cannot have it.

    The episodes begin as undisturbed ones of the same seed do, but where starts or ground
    are perturbed; see `recorded`.
    """
    if perturbation.missing:
        progress(episodes)
        return None
    recording = recorded(
        subject, episodes, seconds=seconds, settings=perturbation.settings,
        variants=perturbation.variants, seed=seed, envs=envs, progress=progress,
    )  # fmt: skip
    return score(recording, seed)
