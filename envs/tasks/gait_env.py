"""`ambulo/Gait-v0`: walk as gait parameters say, with the body that they say."""

from __future__ import annotations

from ambulo.envs.tasks.env import LocomotionEnv, LocomotionVectorEnv


class GaitEnv(LocomotionEnv):
    """A body with gait parameters; each episode draws new ones.

    See `LocomotionEnv`; the observation ends with the parameters, the action with one on
    the clock. `parameters={"stride": 1.1}` keeps some of them, `sample=False` leaves the
    others at a healthy adult's. docs/gait_env.md has the reward.
    """

    task = "gait"


class GaitVectorEnv(LocomotionVectorEnv):
    """N envs of `ambulo/Gait-v0`, sharing `groups` bodies."""

    task = "gait"
