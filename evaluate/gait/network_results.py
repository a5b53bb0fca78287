"""Measurements of gait networks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.gait import GaitSpace
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.evaluate.gait.curves import GaitFacts, cycle_curves, facts_of
from ambulo.evaluate.gait.scores import GaitScores, score, skates
from ambulo.motion.gaits.angles import ANGLES, leg_angles
from ambulo.motion.gaits.frames import (
    WAY_RATE,
    frame_rate,
    motion_of,
    orthonormal,
    speed_of,
)
from ambulo.motion.gaits.gait_sets import GaitSet
from ambulo.motion.gaits.scaled_walk import gait_cycle, human23_soles
from ambulo.motion.gaits.skeleton import gait_skeleton, leg_length
from ambulo.motion.motion import Motion
from ambulo.policies.agents.gait_network import GaitNetwork

VARIED = ("stride", "cadence")
"""Parameters over which the curves are shown."""
LEVELS = 5
"""Values of each, from end to end of its range."""
CYCLES = 3
"""Cycles of the walks that are measured."""


@dataclass(frozen=True, eq=False)
class Walk:
    """A generated walk of one parameter's value, the others healthy."""

    parameter: str
    """Which."""
    value: float
    """Its value."""
    nominal: float
    """The speed that the parameters stand for, [m/s]."""
    facts: GaitFacts
    """Facts of the walk."""
    curves: Floats
    """Mean of both legs, [deg]. Shape (3, 101)."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out gaits, and what a network generates for their parameters; N of them."""

    gaits: GaitSet
    """The gaits."""
    scores: GaitScores
    """Means."""
    sagittal: Floats
    """Mean error of hip, knee and ankle flexion over the cycle, [deg]. Shape (30, 3)."""
    speeds: Floats
    """True and generated speed, [m/s]. Shape (N, 2)."""
    ranges: Floats
    """True and generated range of hip, knee and ankle, [deg]. Shape (N, 3, 2)."""
    skate: tuple[float, float]
    """Mean speed of standing feet, true and generated, [m/s]."""
    thirds: dict[str, dict[str, float]]
    """Errors in the lower, middle and upper third of each parameter, by "name, third"."""
    order: NDArray[np.int64]
    """Rows by ascending error of the legs. Shape (N,)."""

    def to_dict(self) -> dict[str, Any]:
        """Return the means as plain JSON."""
        source, generated = self.skate
        means = self.sagittal.mean(axis=0).tolist()
        return {
            **asdict(self.scores),
            "skate_source": source,
            "skate_generated": generated,
            "sagittal_deg": dict(zip(ANGLES, means, strict=True)),
        }


def walks_of(network: GaitNetwork) -> list[Walk]:
    """The walks over which the curves are shown."""
    space, found = network.space, []
    for parameter in VARIED:
        k = space.index(parameter)
        levels = np.linspace(space.low[k], space.high[k], LEVELS).tolist()
        if parameter in network.held:
            levels = [network.held[parameter]]
        for value in levels:
            values = network.vector(**{parameter: value})
            motion = network.to_motion(values, CYCLES + 1)
            frames = len(motion) // (CYCLES + 1)
            found.append(
                Walk(
                    parameter,
                    value,
                    nominal_speed(space, values),
                    _facts(motion),
                    cycle_curves(motion, frames).mean(axis=0),
                )
            )
    return found


def nominal_speed(space: GaitSpace, values: Floats) -> float:
    """Stride length times cycles per second that parameters (P,) mean, [m/s]."""
    legs = leg_length(space, values)
    named = space.named(values)
    length = HEALTHY.stride_of(named["stride"], legs)
    return float(length * HEALTHY.rate_of(named["cadence"], legs))


def held_out(network: GaitNetwork, gaits: GaitSet) -> HeldOut:
    """Return the prediction errors on held-out gaits."""
    space = network.space
    true = gaits.motions.astype(np.float64)
    params = np.array(
        [space.denormalize(row) for row in gaits.params.astype(np.float64)]
    )
    said = np.array([predicted(network, row) for row in gaits.params])
    rates = np.asarray(frame_rate(space, params))
    both = np.array(
        [
            [_angles(space, row, frames, rate) for frames in pair]
            for row, rate, *pair in zip(params, rates, true, said, strict=True)
        ]
    )  # (N, 2, 60, 2, 3)
    gaps = np.abs(both[:, 0] - both[:, 1])
    sagittal = gaps.reshape(len(gaps), 2, 30, 2, 3).mean(axis=(0, 1, 3))
    each = [score(said[[k]], true[[k]]) for k in range(len(true))]
    legs = np.array([one.legs_deg for one in each])
    speeds = np.stack([speed_of(true), speed_of(said)], axis=1)
    spans = np.ptp(both, axis=2).mean(axis=2)  # (N, 2, 3)
    skate = tuple(float(skates(f, params, rates, space).mean()) for f in (true, said))
    return HeldOut(
        gaits=gaits,
        scores=score(said, true),
        sagittal=sagittal,
        speeds=speeds,
        ranges=np.moveaxis(spans, 1, 2),
        skate=(skate[0], skate[1]),
        thirds=_thirds(space, gaits.params, legs, speeds),
        order=np.argsort(legs, kind="stable"),
    )


def predicted(network: GaitNetwork, normalised: NDArray[Any]) -> Floats:
    """Two cycles (60, 101) of normalised parameters (P,), rotations valid."""
    phase = np.arange(60) / 30.0
    return orthonormal(network(normalised, phase).astype(np.float64))


def motion_of_frames(
    space: GaitSpace, normalised: NDArray[Any], frames: Floats, name: str
) -> Motion:
    """Frames (T, 101) as a motion on the body of normalised parameters (P,)."""
    values = space.denormalize(normalised.astype(np.float64))
    rate = float(frame_rate(space, values))
    return motion_of(frames, rate, gait_skeleton(space, values), name=name)


def _angles(space: GaitSpace, values: Floats, frames: Floats, rate: float) -> Floats:
    """Hip, knee and ankle, [deg], of frames (60, 101). Shape (60, 2, 3)."""
    motion = motion_of(orthonormal(frames), float(rate), gait_skeleton(space, values))
    return np.degrees(leg_angles(motion))


def _thirds(
    space: GaitSpace, params: NDArray[Any], legs: Floats, speeds: Floats
) -> dict[str, dict[str, float]]:
    """Errors in thirds of each parameter's range; thirds without gaits are left out."""
    off = np.abs(speeds[:, 1] - speeds[:, 0])
    percent = 100.0 * off / np.maximum(np.abs(speeds[:, 0]), 1.0 / WAY_RATE)
    rows = {}
    for k, name in enumerate(space.names):
        place = np.clip((params[:, k] * 3.0).astype(np.int64), 0, 2)
        for third, label in enumerate(("low", "middle", "high")):
            inside = place == third
            if inside.any():
                rows[f"{name}, {label}"] = {
                    "legs_deg": float(legs[inside].mean()),
                    "speed_percent": float(percent[inside].mean()),
                }
    return rows


def flat(walk: Walk) -> dict[str, Any]:
    """A walk's numbers for JSON."""
    spans = np.ptp(walk.curves, axis=1)
    return {
        "parameter": walk.parameter,
        "value": walk.value,
        "nominal_speed": walk.nominal,
        **asdict(walk.facts),
        **{
            f"{joint}_range_deg": float(span)
            for joint, span in zip(ANGLES, spans, strict=True)
        },
    }


def random_gaits(network: GaitNetwork, count: int, seed: int) -> GaitSet:
    """Return gaits that `network` generates for parameters drawn at random."""
    rng = np.random.default_rng([seed, 9])
    space = network.space
    values = space.sample(rng, count)
    for name, value in network.held.items():
        values[:, space.index(name)] = value
    params = space.normalize(values).astype(np.float32)
    motions = np.array([predicted(network, row) for row in params], dtype=np.float32)
    return GaitSet(params, motions)


def generated_facts(network: GaitNetwork, values: Floats) -> GaitFacts:
    """Return what the network's walk of parameters (P,) shows."""
    return _facts(network.to_motion(values, CYCLES + 1))


def scaled_facts(space: GaitSpace, values: Floats) -> GaitFacts:
    """Return what the healthy walk, scaled to parameters (P,), shows."""
    soles = human23_soles(gait_skeleton(space, values))
    return _facts(gait_cycle(space, values, soles).motion(CYCLES + 1))


def _facts(motion: Motion) -> GaitFacts:
    frames = len(motion) // (CYCLES + 1)
    return facts_of(motion[: CYCLES * frames + 1], frames)
