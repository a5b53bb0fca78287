"""A small gait network of the healthy walk made longer, quicker or smaller, and its data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from ambulo.configs.gait import GaitSpace, gait_space
from ambulo.motion.datasets.gait_shards import RefinedShard, write_refined
from ambulo.motion.gait_frames import frame_rate
from ambulo.motion.human23 import positions_of, to_sixdof
from ambulo.motion.reference.cycle import Cycle, body_velocities
from ambulo.motion.reference.healthy_walk import healthy_walk
from ambulo.motion.reference.variants import with_amplitude
from ambulo.policies.ref_nn import RefNN, save_ref_nn

SPACE = gait_space("human23")
MOVING = ("stride", "cadence", "global")
"""Parameters that change the frames of `walk_frames`."""


def walk_frames(values: np.ndarray) -> np.ndarray:
    """Two cycles (60, 101) of the healthy walk with a stride, a cadence and a size."""
    named = SPACE.named(values)
    healthy = healthy_walk(30)
    cycle = with_amplitude(healthy, named["stride"])
    size = float(named["global"])
    moved = Cycle(
        cycle.skeleton,
        30.0 / float(frame_rate(SPACE, values)),
        named["stride"] * healthy.stride * size,
        cycle.root_positions * size,
        cycle.rotations,
    )
    frames = to_sixdof(positions_of(moved.root_positions, moved.rotations))
    frames[:, 6:8] = body_velocities(moved)[0][:, :2] / 30.0
    return np.tile(frames, (2, 1))


def sample_values(count: int, seed: int = 0) -> np.ndarray:
    """Parameters (count, 13); only `MOVING` differ."""
    rng = np.random.default_rng(seed)
    values = np.tile(SPACE.default, (count, 1))
    for name in MOVING:
        k = SPACE.index(name)
        values[:, k] = rng.uniform(SPACE.low[k], SPACE.high[k], count)
    return values


def fitted_network(count: int = 120) -> RefNN:
    """Random features of parameters and phase, and the last layer by least squares."""
    torch.manual_seed(0)
    network = RefNN(SPACE, hidden=400, layers=1, harmonics=3)
    values = sample_values(count)
    params = torch.as_tensor(SPACE.normalize(values), dtype=torch.float32)
    frames = np.array([walk_frames(row)[:30] for row in values]).reshape(-1, 101)
    phases = torch.arange(30).repeat(count) / 30.0
    inputs = network.inputs(params.repeat_interleave(30, dim=0), phases)
    network.set_statistics(inputs, torch.as_tensor(frames, dtype=torch.float32))
    first, last = network.layers
    with torch.no_grad():
        first.weight *= 3.0
        still = [k for k, name in enumerate(SPACE.names) if name not in MOVING]
        first.weight[:, still] = 0.0
        first.bias.uniform_(-2.0, 2.0)
        scaled = (inputs - network.center) / network.scale
        hidden = torch.relu(first(scaled)).double().numpy()
        wanted = (frames - network.mean.numpy()) / network.spread.numpy()
        both = np.hstack([hidden, np.ones((len(hidden), 1))])
        ridge = both.T @ both + 1e-3 * np.eye(both.shape[1])
        found = np.linalg.solve(ridge, both.T @ wanted)
        last.weight.copy_(torch.as_tensor(found[:-1].T))
        last.bias.copy_(torch.as_tensor(found[-1]))
    return network.requires_grad_(False).eval()


@pytest.fixture(scope="session")
def space() -> GaitSpace:
    """The space of human23."""
    return SPACE


@pytest.fixture(scope="session")
def network() -> RefNN:
    """The network."""
    return fitted_network()


@pytest.fixture(scope="session")
def model(network: RefNN, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its file."""
    path = tmp_path_factory.mktemp("model") / "gait_net.zip"
    save_ref_nn(path, network)
    return path


@pytest.fixture(scope="session")
def refined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 90 sequences of other parameters than the network has seen."""
    folder = tmp_path_factory.mktemp("refined")
    values = sample_values(90, seed=5)
    frames = np.array([walk_frames(row) for row in values])
    noise = np.random.default_rng(1).normal(0.0, 0.004, frames.shape)
    noise[..., 6:8] /= 10.0  # the way in a thirtieth of a second
    shard = RefinedShard(
        params=values,
        motions=(frames + noise).astype(np.float32),
        names=SPACE.names,
        fps=np.asarray(frame_rate(SPACE, values)),
        subject=np.array(["human23"] * len(values)),
        clip=np.array([f"episode {k}" for k in range(len(values))]),
        origin=np.array(["rollout"] * len(values)),
        source={"space": json.loads(SPACE.to_json())},
    )
    write_refined(folder / "gait_00000.npz", shard)
    return folder
