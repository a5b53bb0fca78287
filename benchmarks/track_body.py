"""How long, and how near, a body under gravity follows a player's head and hands.

    OMP_NUM_THREADS=1 python benchmarks/track_body.py CLIP... [--points 6] [--json FILE]

Every clip (motion files and folders; the first `--seconds` of each) is put on human23 and seen
by trackers; bodies begin in its first frames, `--episodes` times with noise, and again with one
push of 20 N s. Distances are from the captured motion at the time of the newest sample, in
the world, up to the end of the episode. No agent but the last is shown anything of the future.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, machine, write

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import MotionError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.layout import ObservationLayout
from ambulo.envs.reference.clips.clip_library import ClipLibrary, clip_library
from ambulo.envs.reference.clips.plain_clip import plain_clip
from ambulo.envs.reference.clips.raw_clip import raw_clip
from ambulo.envs.reference.clips.read_clips import clip_files
from ambulo.envs.reference.configured import body_of
from ambulo.envs.reference.reference import Gait, Reference
from ambulo.envs.tasks.track import TrackBatch
from ambulo.envs.tasks.track_body import TrackBodyBatch
from ambulo.evaluate.tracking.episodes import NEVER
from ambulo.ik.trackers.layout import TRACKED
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.retargeting.source import read_source
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion_agent

IMPULSE = 20.0
"""Of a push at the pelvis, [N s]."""
PUSH = (0.5, 1.5)
"""Time from the start of an episode to its push, [s]."""
LED = np.array(TRACKED)[[0, 1, 4]]
"""Hands and head."""
WAYS: dict[str, dict[str, Any]] = {
    "zero": {},
    "zero_control": {"whole_body_control": True},
    "policy": {"policy": True, "pose_delay": 1},
    "policy_foresight": {"policy": True, "pose_delay": 1, "foresight": 0.2},
    "zero_support_20": {"support": 0.2},
    "zero_support_40": {"support": 0.4},
    "policy_support_20": {"policy": True, "support": 0.2},
    "policy_future": {"policy": True, "future": True},
}
"""What moves the bodies, as settings; the defaults are no action and no control."""

Result = dict[str, float]


def main(argv: Sequence[str] | None = None) -> int:
    """Play, print and store."""
    parser = Options(__doc__, seconds=1.5, episodes=1)
    parser.add_argument("clips", nargs="+", type=Path, help="motion files, folders")
    parser.add_argument("--points", type=int, default=3, help="trackers, 3 to 6")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each clip")
    parser.add_argument("--episodes", type=int, default=4, help="of each clip")
    parser.add_argument("--agent", default="track", help="policy: a name or a file")
    parser.add_argument(
        "--way", action="append", choices=sorted(WAYS), help="only these (repeatable)"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="further settings of every way (repeatable)",
    )  # fmt: skip
    args = parser.read(argv)
    agent = load_locomotion_agent(find_model(args.agent))
    character = body_of(agent.config.environment)
    reference = captured_clips(args.clips, args.seconds, character)
    more: dict[str, Any] = {}
    for key, value in (text.split("=") for text in args.set):
        more[key] = json.loads(value)
    more["points"] = args.points
    found: dict[str, Result] = {}
    for name in args.way or WAYS:
        found[name] = measured(WAYS[name] | more, agent, reference, args.episodes)
        print(name, {k: round(float(v), 1) for k, v in found[name].items()}, flush=True)
        worst = {k: v for k, v in CLIPS.items() if v < 1.0}
        print("   falls:", {k: round(v, 2) for k, v in worst.items()}, flush=True)
    write({"points": args.points, "ways": found}, args, machine=machine())
    return 0


CLIPS: dict[str, float] = {}


def captured_clips(paths: Sequence[Path], seconds: float, character: Any) -> Reference:
    """The clips, cut, as captured; those that are too short are told and left out."""
    gaits = []
    for path in clip_files(paths):
        motion = retarget(
            read_source(path, drop_tpose=True).logged(), character.skeleton
        ).motion
        try:
            clip = plain_clip(motion[: round(seconds * motion.fps)], character)
        except MotionError as error:
            print(f"left out: {error}")
            continue
        balanced = raw_clip(motion[: round(seconds * motion.fps)], character).table
        gaits.append(Gait(balanced, None, {}, path.stem, clip))
    return Reference("clips", character.name, 1.0 / 30.0, tuple(gaits))


def measured(
    way: Mapping[str, Any], agent: LocomotionAgent, reference: Reference, episodes: int
) -> Result:
    """What became of the bodies; percentages and centimetres."""
    batch = bodies(way, agent, reference, episodes)
    size = batch.action_size

    def still(batch: TrackBatch) -> Floats:
        return np.zeros((batch.num_envs, size))

    parts = [p for p in batch.layout.parts if not p.name.startswith("track")]
    layout = ObservationLayout(tuple(parts))

    def policy(batch: TrackBatch) -> Floats:
        return np.asarray(agent.act(batch.observation(layout)), np.float64)

    act = policy if way.get("policy") else still
    calm, joints, led, seconds = play(batch, act, 0.0)
    pushed = play(batch, act, IMPULSE)[0]
    CLIPS.clear()
    for number, name in enumerate(batch.clip_names):
        CLIPS[name] = float(calm[batch.clip == number].mean())
    return {
        "to the end [%]": 100.0 * calm.mean(),
        "pushed [%]": 100.0 * pushed.mean(),
        "time [s]": float(seconds.mean()),
        "joints [cm]": 100.0 * joints.mean(),
        "head, hands [cm]": 100.0 * led.mean(),
    }


def bodies(
    way: Mapping[str, Any], agent: LocomotionAgent, reference: Reference, episodes: int
) -> TrackBatch:
    """`episodes` bodies for each clip."""
    future, own = bool(way.get("future")), LocomotionConfig()
    control = bool(way.get("whole_body_control"))
    trackers = {k: v for k, v in way.items() if k in type(own.trackers).model_fields}
    config = agent.config.override(
        "environment", task="track" if future else "track_body", clips=(), start="first",
        whole_body_control=control, captured_share=0.0, start_position_noise=0.01,
        start_velocity_noise=0.05, max_episode_steps=10**6,
        push_impulse=(1.0, 1.0), push_interval=(NEVER, NEVER),
    ).override("trackers", **trackers)  # fmt: skip
    character, clips = body_of(config.environment), len(reference.gaits)
    make: Callable[..., TrackBatch] = TrackBatch if future else TrackBodyBatch
    more = {}
    if future:
        tables = {gait.name: gait.table for gait in reference.gaits}
        substeps = config.environment.substeps
        more["library"] = clip_library(tables, character, substeps)
    return make(config, reference, character, num_envs=clips * episodes, **more)


def play(
    batch: TrackBatch, act: Callable[[TrackBatch], Floats], impulse: float
) -> tuple[Bools, Floats, Floats, Floats]:
    """Who reaches the end; distances of all joints and of hands and head, [m]; times, [s]."""
    count, rng = batch.num_envs, np.random.default_rng(3)
    everyone: Ints = np.arange(count)
    clips = everyone % len(batch.library.names)
    batch.choose(everyone, clips, np.zeros_like(clips))
    batch.seed(list(range(count)))
    batch.reset(everyone)
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    start = rng.uniform(*PUSH, count)
    width = batch.config.environment.push_duration
    batch.pushes.start[:] = start if impulse > 0.0 else NEVER
    force = np.stack([np.cos(angle), np.sin(angle)], axis=1) * impulse / width
    batch.pushes.force[:] = force
    live, won = np.ones(count, np.bool_), np.zeros(count, np.bool_)
    sums, led, steps = np.zeros(count), np.zeros(count), np.zeros(count)
    while live.any():
        _, _, terminated, truncated, _ = batch.step(np.clip(act(batch), -1.0, 1.0))
        batch.pushes.start[batch.simulation.time > start + width] = NEVER
        apart = captured_distances(batch)
        sums += np.where(live, apart.mean(axis=1), 0.0)
        led += np.where(live, apart[:, LED].mean(axis=1), 0.0)
        steps += live
        won |= live & truncated & ~terminated
        ended = terminated | truncated
        live &= ~ended
        if ended.any() and live.any():
            batch.reset(np.flatnonzero(ended))
            batch.pushes.start[ended] = NEVER
    return won, sums / steps, led / steps, steps * batch.simulation.dt


def captured_distances(batch: TrackBatch) -> Floats:
    """Distance of each joint from the captured one, [m]. Shape (N, 23)."""
    if isinstance(batch, TrackBodyBatch):
        return batch.captured_distances()
    if id(batch) not in CAPTURED:
        tables = {g.name: g.captured for g in batch.reference.gaits if g.captured}
        substeps = batch.simulation.substeps
        CAPTURED[id(batch)] = clip_library(tables, batch.character, substeps)
    library = CAPTURED[id(batch)]
    rows = library.knot_rows(batch.clip, batch.frame)
    own = batch.anchor.copy()
    batch.anchor[:] = library.frames[library.rows(batch.clip, batch.frame)]
    apart = batch.joint_distances(library.joints[rows])
    batch.anchor[:] = own
    return apart


CAPTURED: dict[int, ClipLibrary] = {}
"""The clips as captured, of batches that are shown the future."""


if __name__ == "__main__":
    sys.exit(main())
