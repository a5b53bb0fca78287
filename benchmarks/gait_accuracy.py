"""Accuracy of a gait network on gaits and bodies it never saw, beside simple baselines.

The test part is the one that the training kept back: the split is made again from the
settings in the model file. The baselines know the training part: its mean gait; the
nearest neighbour in normalised parameters; eight nearest by inverse distance, since no
grid of 13 parameters can be filled; bilinear interpolation on a grid of stride and
cadence; ridge regression on the parameters and their products, one for each phase. Noise
is what no function of parameters and phase can tell: each cycle predicted by the mean of
both.

    python benchmarks/gait_accuracy.py --model gait_net.zip --data refined

The networks of docs/results/gait_accuracy_captured*.json were trained by
`train_forward_gaitnet --preset fast --batch-size 512 --epochs 20` with `--set`
training.passes=10, dataset.mirror=true, training.warmup_steps=50, training.average=0.99,
network.harmonics=1, loss.motion=0, and a test part of 20 %.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from _harness import run
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator
from scipy.spatial import KDTree

from ambulo.common.find_model import find_model
from ambulo.configs.gait import GaitSpace, gait_space
from ambulo.configs.gait_net import GaitNetDataConfig
from ambulo.evaluate.gait.baselines import (
    GaitPredictor,
    cycle_of,
    of_mean,
    of_ridge,
    twice,
)
from ambulo.evaluate.gait.scores import score, skates
from ambulo.motion.gaits.frames import frame_rate
from ambulo.motion.gaits.gait_sets import GaitData, GaitSet, load_part, open_data
from ambulo.motion.gaits.refining import RefinedWriter, Sequence
from ambulo.motion.gaits.shards import FRAMES, PER_CYCLE
from ambulo.policies.agents.gait_network import GaitNetwork, load_gait_network

NEIGHBOURS = 8
CELLS = 5
HEALTHY = 0.9
"""A body with muscles counts as healthy if every muscle's length and force is above."""


def of_network(network: GaitNetwork) -> GaitPredictor:
    """The network as a predictor."""
    phase = np.arange(FRAMES) / PER_CYCLE

    def predict(params: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.array([network(row, phase) for row in params], dtype=np.float64)

    return predict


def of_neighbours(train: GaitSet, count: int) -> GaitPredictor:
    """Means of the nearest sequences, weighted by 1 / distance."""
    tree = KDTree(train.params)
    cycles = cycle_of(train.motions)

    def predict(params: NDArray[np.float32]) -> NDArray[np.float64]:
        far, rows = tree.query(params, k=range(1, min(count, len(train)) + 1))
        weights = 1.0 / np.maximum(far, 1e-6)
        weights /= weights.sum(axis=1, keepdims=True)
        return twice(np.einsum("nk,nkfd->nfd", weights, cycles[rows]))

    return predict


def of_grid(train: GaitSet, space: GaitSpace) -> GaitPredictor:
    """Bilinear interpolation over stride and cadence alone."""
    columns = [space.index("stride"), space.index("cadence")]
    axis = np.linspace(0.0, 1.0, CELLS)
    nodes = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    near = KDTree(nodes).query(train.params[:, columns])[1]
    cycles = cycle_of(train.motions)
    filled = [node for node in range(len(nodes)) if (near == node).any()]
    closest = KDTree(nodes[filled]).query(nodes)[1]
    means = np.array([cycles[near == filled[k]].mean(axis=0) for k in closest])
    table = RegularGridInterpolator(
        (axis, axis), means.reshape(CELLS, CELLS, *cycles.shape[1:])
    )

    def predict(params: NDArray[np.float32]) -> NDArray[np.float64]:
        return twice(table(np.clip(params[:, columns], 0.0, 1.0)))

    return predict


def groups_of(data: GaitData, held: GaitSet) -> dict[str, NDArray[np.bool_]]:
    """Rows of `held` that are healthy and impaired, where there are muscles."""
    kinds = np.array([p.group.startswith("muscle") for p in data.space.parameters])
    if not kinds.any():
        return {"healthy": np.ones(len(held), dtype=bool)}
    values = data.space.denormalize(held.params)[:, kinds]
    healthy = (values > HEALTHY).all(axis=1)
    found = {"healthy": healthy, "impaired": ~healthy}
    return {name: rows for name, rows in found.items() if rows.any()}


def make_data(folder: Path, count: int) -> None:
    """`count` sequences of random numbers, to see this run."""
    rng, space = np.random.default_rng(0), gait_space("human23")
    writer = RefinedWriter(folder, space, "rollout", {})
    frames = 0.1 * rng.standard_normal((count, FRAMES, 101))
    rows = zip(space.sample(rng, count), frames, strict=True)
    writer.add(Sequence(row, pose, 27.0, "made", "nobody") for row, pose in rows)
    writer.close()


def measure(
    model: str = "gait_net", data: str = "", most: int = 10_000, skate: int = 100
) -> dict[str, Any]:
    """Errors on at most `most` test sequences of `data`; random ones are made without it."""
    network = load_gait_network(find_model(model))
    settings = network.metadata.training.get("run", {})
    config = GaitNetDataConfig.model_validate(settings.get("dataset", {}))
    seed = int(settings.get("training", {}).get("seed", 0))
    with tempfile.TemporaryDirectory() as made:
        if not data:  # the network is then no better than noise
            make_data(Path(made), 64)
        opened = open_data([data or made], config, seed, network.space)
        train, validation = load_part(opened, "train"), load_part(opened, "validation")
        test = load_part(opened, "test", most)
    predictors: dict[str, GaitPredictor] = {
        "network": of_network(network),
        "mean gait": of_mean(train),
        "nearest neighbour": of_neighbours(train, 1),
        f"{NEIGHBOURS} nearest by inverse distance": of_neighbours(train, NEIGHBOURS),
        "grid of stride and cadence": of_grid(train, network.space),
        "ridge with products": of_ridge(train, validation),
    }
    found: dict[str, Any] = {
        "sequences": {"train": len(train), "test": len(test)}, "split": config.split,
    }  # fmt: skip
    for group, rows in groups_of(opened, test).items():
        params, motions = test.params[rows], test.motions[rows]
        table: dict[str, Any] = {
            name: asdict(score(predict(params), motions))
            for name, predict in predictors.items()
        }
        table["noise"] = asdict(score(twice(cycle_of(motions)), motions))
        values = network.space.denormalize(params[:skate])
        rates = np.asarray(frame_rate(network.space, values))
        for name in ("network", "nearest neighbour", "ridge with products"):
            slides = skates(
                predictors[name](params[:skate]), values, rates, network.space
            )
            table[name]["skate_cm_s"] = float(100.0 * slides.mean())
        found[group] = table
    return found


if __name__ == "__main__":
    run(measure, {"most": 8, "skate": 2})
