"""Episodes of bodies that follow trackers: falls, and distances from what was captured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.evaluate.shared.rollout import rollout
from ambulo.evaluate.tracking.body_agents import BodyAgent
from ambulo.evaluate.tracking.episodes import NEVER
from ambulo.ik.trackers.layout import HEAD_ROW, LEFT_HAND, RIGHT_HAND, TRACKED

PUSH = (0.5, 1.5)
"""Time from the start of an episode to its push, [s]."""
LED = np.array(TRACKED)[[HEAD_ROW, LEFT_HAND, RIGHT_HAND]]
"""Bodies of head and hands."""
FARTHEST = 0.5
"""Mean distance of joints from the tracked ones at which a body is lost, [m]."""


@dataclass(frozen=True, eq=False)
class BodyEpisodes:
    """What became of E episodes; distances are means over an episode, in the world."""

    clip: Ints
    """Number of the clip. Shape (E,)."""
    success: Bools
    """Whether the clip's end was reached, joints never farther than `FARTHEST`. (E,)."""
    on_feet: Bools
    """Whether the body reached the end without a fall, wherever it was. Shape (E,)."""
    time: Floats
    """Time to the end, a fall or joints that are too far away, [s]. Shape (E,)."""
    joints: Floats
    """Distance of the joints from the captured ones in this time, [m]. Shape (E,)."""
    led: Floats
    """The same of head and hands, [m]. Shape (E,)."""

    def only(self, clip: int) -> BodyEpisodes:
        """The episodes of one clip."""
        chosen = self.clip == clip
        return BodyEpisodes(**{k: v[chosen] for k, v in vars(self).items()})


def play_body(
    agent: BodyAgent,
    *,
    seed: int,
    impulse: float = 0.0,
    progress: Callable[[int], None] = lambda count: None,
) -> BodyEpisodes:
    """One episode of each body, from the first frame of its clip.

    Args:
        agent: The bodies, those of a clip a number of clips apart.
        seed: Of noise and pushes.
        impulse: Of one push at the pelvis in a random direction, at a random time within
            `PUSH`, [N s]; 0: none.
        progress: Called with numbers of finished episodes.
    """
    batch, count = agent.batch, agent.batch.num_envs
    everyone, dt = np.arange(count), batch.simulation.dt
    clips = everyone % len(batch.library.names)
    batch.choose(everyone, clips, np.zeros_like(clips))
    batch.seed([seed + int(body) for body in everyone])
    batch.reset(everyone)
    rng = np.random.default_rng([seed, 7])
    angle, start = rng.uniform(0.0, 2.0 * np.pi, count), rng.uniform(*PUSH, count)
    env, pushes = batch.config.environment, batch.pushes
    pushes.start[:] = start if impulse > 0.0 else NEVER
    ahead = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    pushes.force[:] = ahead * impulse / env.push_duration
    live, success, on_feet = np.array([[True], [False], [False]]).repeat(count, axis=1)
    joints, led, steps = np.zeros((3, count))
    for step in rollout(batch, agent.act):
        apart = batch.captured_distances()
        joints += np.where(live, apart.mean(axis=1), 0.0)
        led += np.where(live, apart[:, LED].mean(axis=1), 0.0)
        steps += live
        live &= batch.joint_distance <= FARTHEST
        done = step.truncated & ~step.terminated
        success |= live & done
        on_feet |= step.running & done
        live &= step.going
        progress(int(np.count_nonzero(step.running & ~step.going)))
    return BodyEpisodes(
        clips, success, on_feet, steps * dt, joints / steps, led / steps
    )
