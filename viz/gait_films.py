"""Films of generated gaits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ambulo.common.gl import import_mujoco
from ambulo.configs.arrays import Floats
from ambulo.motion.contacts import foot_contacts
from ambulo.motion.motion import Motion
from ambulo.policies.agents.gait_network import GaitNetwork
from ambulo.viz.skeleton_actor import Actor, actor_of, on_one_ground
from ambulo.viz.skeleton_film import PANEL, RATES, loop_frames, write_film

CYCLES = 2
"""Number of cycles of walks side by side."""
LEAD = 2
"""Cycles before and after a film, in which contacts settle."""


def write_walk(path: Path, network: GaitNetwork, values: Floats, cycles: int) -> Path:
    """A film of a walk that loops without a seam, in real time.

    Args:
        path: .gif or .mp4.
        network: The gait network.
        values: Gait parameters (P,), in their units.
        cycles: Number of cycles to show.

    Raises:
        RenderError: The encoder fails.
    """
    named = network.space.named(values)
    label = f"stride {named['stride']:.2f}, cadence {named['cadence']:.2f}"
    fps = RATES[path.suffix.lower()]
    motion = network.to_motion(values, cycles + 2 * LEAD, fps)
    return _write_loop(path, [_shown(motion, cycles, label)], motion.fps)


def write_varied(path: Path, network: GaitNetwork) -> Path:
    """Walks side by side: the shortest, the healthy and the longest stride.

    All have the healthy cadence, so that they step together.
    """
    space, fps = network.space, RATES[path.suffix.lower()]
    k = space.index("stride")
    actors = []
    strides = [space.low[k], space.default[k], space.high[k]]
    if "stride" in network.held:
        strides = [network.held["stride"]]
    for value in strides:
        motion = network.to_motion(
            network.vector(stride=float(value)), CYCLES + 2 * LEAD, fps
        )
        fps = motion.fps
        actors.append(_shown(motion, CYCLES, f"stride {value:.2f}"))
    return _write_loop(path, actors, fps, panel=320)


def write_comparison(path: Path, motions: Sequence[Motion]) -> Path:
    """A film of motions of one length side by side; the first is a shadow of the others."""
    actors = [
        actor_of(motion, contacts=foot_contacts(motion), label=motion.name)
        for motion in motions
    ]
    actors = on_one_ground(actors)
    return write_film(path, actors, motions[0].fps, ghost=True, panel=320)


def _shown(motion: Motion, cycles: int, label: str) -> Actor:
    """The cycles in the middle of a motion with `LEAD` more at both ends.

    One additional frame, from which the film loops.
    """
    frames = len(motion) // (cycles + 2 * LEAD)
    contacts = foot_contacts(motion)
    shown = slice(LEAD * frames, (LEAD + cycles) * frames + 1)
    return actor_of(motion[shown], contacts=contacts[shown], label=label)


def _write_loop(
    path: Path, actors: Sequence[Actor], fps: float, panel: int = PANEL
) -> Path:
    import_mujoco()
    from ambulo.envs.vr.world.render import write_video

    return write_video(loop_frames(actors, panel), path, fps=fps)
