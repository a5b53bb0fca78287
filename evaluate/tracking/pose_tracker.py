"""A tracking policy as a controller: give it poses, it moves a simulated body."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.envs.locomotion.observation import AHEAD
from ambulo.envs.reference.clips.pose_stream import PoseStream
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.reference.joint_positions import qpos_of
from ambulo.envs.reference.reference import reference_from_bytes
from ambulo.envs.tasks.track import TrackBatch
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.retargeting.retarget import retarget
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion_agent


@dataclass(frozen=True, eq=False)
class TrackedPose:
    """The body after a control step."""

    qpos: Floats
    """MuJoCo's positions. Shape (nq,)."""
    error: float
    """Mean distance of its joints from the stream's, [m]."""
    fell: bool
    """Whether it has fallen; it is put back on the stream before the next step."""


class PoseTracker:
    """Moves a body along a stream of poses, one a control step (30 a second).

    The body is `delay` control steps behind the stream, because the policy is shown poses
    ahead; with less delay it sees the newest pose in place of those that are not known yet.
    """

    def __init__(
        self,
        agent: LocomotionAgent | str | Path = "track",
        *,
        delay: int = AHEAD[-1],
        seconds: float = 600.0,
    ) -> None:
        """Load a policy.

        Args:
            agent: A policy of the task `track`: loaded, a file, or a shipped model's name.
            delay: Control steps that the body is behind the stream.
            seconds: Longest stream, [s].

        Raises:
            ConfigError: A policy of another task, or a delay below 1.
        """
        if not isinstance(agent, LocomotionAgent):
            agent = load_locomotion_agent(find_model(str(agent)))
        env = agent.config.environment
        if not env.traits.clips or env.traits.trackers:
            raise ConfigError(f"a policy of the task {env.task} tracks no poses")
        if delay < 1:
            raise ConfigError(f"delay = {delay}: at least 1 control step")
        self._agent, self._delay = agent, delay
        character = configured_character(env)
        self.character = character
        """The body."""
        self._stream = PoseStream(character, env.substeps, seconds=seconds)
        config = agent.config.override(
            "environment", start="first", start_position_noise=0.0,
            start_velocity_noise=0.0, push_impulse=(0.0, 0.0), captured_share=0.0,
            max_episode_steps=10**9,
        )  # fmt: skip
        clip = reference_from_bytes(agent.references[0], "the model's clip")
        self._batch = TrackBatch(
            config, clip, character, num_envs=1, library=self._stream.library
        )
        self._begun = False

    @property
    def control_dt(self) -> float:
        """Time between two poses, [s]."""
        return self._batch.simulation.dt

    @property
    def jumps(self) -> int:
        """Jumps of the stream that were led over."""
        return self._stream.jumps

    def poses(self, motion: Motion) -> Floats:
        """The poses of a motion of any skeleton for `step`. Shape (T, nq)."""
        on_body = retarget(motion, self.character.skeleton).motion
        return qpos_of(resample(on_body, 1.0 / self.control_dt), self.character.model)

    def reset(self, pose: Floats) -> None:
        """Put the body into a pose, MuJoCo's positions (nq,), which begins the stream."""
        self._stream.begin(np.asarray(pose, np.float64))
        self._batch.seed([0])
        self._put(0)
        self._begun = True

    def step(self, pose: Floats) -> TrackedPose:
        """Take the next pose (nq,) of the stream, and move the body by a control step.

        The body waits in its first pose until it is `delay` poses behind.

        Raises:
            MotionError: A pose that is not finite, or a stream that is too long.
        """
        if not self._begun:
            self.reset(pose)
        else:
            self._stream.append(np.asarray(pose, np.float64))
        batch, ended = self._batch, False
        if int(batch.frame[0]) == 0 and self._behind() > self._delay:
            self._put(0)  # now its velocity is known
        while not ended and self._behind() > self._delay:
            ended = bool(batch.step(self._agent.act(batch.obs))[2][0])
        result = TrackedPose(
            batch.simulation.qpos[0].copy(), float(batch.joint_distance[0]), ended
        )
        if ended:
            self._put(int(batch.frame[0]) // batch.simulation.substeps)
        return result

    def _behind(self) -> int:
        frame = int(self._batch.frame[0]) // self._batch.simulation.substeps
        return self._stream.knots - frame

    def _put(self, step: int) -> None:
        """Put the body on the stream at a control step."""
        one = np.zeros(1, np.int64)
        self._batch.choose(one, one, one + step)
        self._batch.reset(one)
