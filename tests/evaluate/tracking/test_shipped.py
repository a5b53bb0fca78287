"""The shipped tracker follows the clip in its file, and a stream of its poses."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.common.find_model import find_model
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference.reference import reference_from_bytes
from ambulo.envs.tasks.track import TrackBatch
from ambulo.evaluate.tracking.episodes import play, random_starts
from ambulo.evaluate.tracking.pose_tracker import PoseTracker
from ambulo.policies.agents.locomotion import load_locomotion_agent


@pytest.mark.integration
def test_it_reaches_the_end_of_its_clip() -> None:
    agent = load_locomotion_agent(find_model("track"))
    reference = reference_from_bytes(agent.references[0], "track")
    config = LocomotionConfig().override("environment", task="track")
    batch = TrackBatch(config, reference, load_character("human23"), num_envs=8)
    starts = random_starts(batch, np.zeros(1, np.int64), 8, 3)
    done = play(batch, lambda batch: agent.act(batch.obs), starts, seed=3)
    assert done.success.mean() >= 0.75
    assert done.error[done.success].mean() < 0.08


def test_a_body_follows_poses_that_arrive_one_by_one() -> None:
    tracker = PoseTracker("track")
    agent = load_locomotion_agent(find_model("track"))
    clip = reference_from_bytes(agent.references[0], "track").table
    bodies = [tracker.step(pose) for pose in clip.qpos[::5]]
    assert not any(body.fell for body in bodies)
    assert tracker.jumps == 0
    assert np.mean([body.error for body in bodies]) < 0.08
    way = bodies[-1].qpos[:2] - bodies[0].qpos[:2]
    assert np.linalg.norm(way) > 1.0
