"""Validation of body trackers during training: errors of the network on other people."""

from __future__ import annotations

import torch
from torch import Tensor

from ambulo.configs.body_tracker import TrackerDataConfig
from ambulo.ik.avatar.layout import HEAD
from ambulo.policies.networks.tracker_net import TrackerNet
from ambulo.train.ik.kinematics import TreeKinematics
from ambulo.train.trackers.features import network_inputs
from ambulo.train.trackers.losses import LEG_JOINTS, TrackerLoss, distances_of
from ambulo.train.trackers.sources import SequenceSource
from ambulo.train.trackers.streams import Streams, TrackerPiece

COUNT, PIECES = 128, 8
"""Streams, and pieces of each."""
SETS: dict[str, tuple[float, tuple[float, float, float, float]]] = {
    "": (1.0, (1.0, 0.0, 0.0, 0.0)),
    "hips_": (0.0, (1.0, 0.0, 0.0, 0.0)),
    "feet_": (0.0, (0.0, 1.0, 0.0, 0.0)),
    "six_": (0.0, (0.0, 0.0, 1.0, 0.0)),
}
"""Sets of trackers: the share of head and hands alone, and weights of the other sets."""
CLEAN = TrackerDataConfig(
    balance=1.0, mirror=0.0, proportions=0.0, speed=0.0, known_shape=1.0, noise=0.0,
    turn_noise=0.0, grip=0.0, grip_turn=0.0, three=1.0, arms=0.0, dropout=0.0,
)  # fmt: skip
"""Trackers as captured."""
SEED = 20_000


class TrackerValidation:
    """The same streams of other people at every validation, once for each set of trackers."""

    def __init__(
        self, source: SequenceSource, kinematics: TreeKinematics, loss: TrackerLoss,
        *, steps: int, lead: float,
    ) -> None:  # fmt: skip
        """Draw the pieces of the streams."""
        self._loss = loss
        self._pieces: dict[str, list[TrackerPiece]] = {}
        for name, (three, others) in SETS.items():
            streams = Streams(
                source, CLEAN.replace(three=three, others=others), kinematics,
                count=COUNT, steps=steps, lead=lead, seed=SEED,
            )  # fmt: skip
            self._pieces[name] = [streams.draw() for _ in range(PIECES)]

    def scores(self, network: TrackerNet) -> tuple[float, dict[str, float]]:
        """Return the mean joint error seen from the head, [cm], and more scores.

        The error is that with head and hands alone; those of the other sets begin with
        their names.
        """
        scores: dict[str, float] = {}
        for name, pieces in self._pieces.items():
            found = self._of_set(network, pieces)
            kept = found if not name else {k: found[k] for k in ("joint_cm", "legs_cm")}
            scores |= {name + key: value for key, value in kept.items()}
        return scores["joint_cm"], scores

    def _of_set(
        self, network: TrackerNet, pieces: list[TrackerPiece]
    ) -> dict[str, float]:
        """The scores of one set of trackers."""
        state = pieces[0].root.new_zeros(COUNT, network.config.state)
        sums: dict[str, list[Tensor]] = {}
        with torch.no_grad():
            for piece in pieces:
                state = torch.where(piece.fresh[:, None], 0.0, state)
                outputs, state = network(network_inputs(piece.ticks, False), state)
                for name, value in self._values(outputs, piece).items():
                    sums.setdefault(name, []).append(value.mean())
        return {name: float(torch.stack(v).mean()) for name, v in sums.items()}

    def _values(self, outputs: Tensor, piece: TrackerPiece) -> dict[str, Tensor]:
        """Metrics of one piece, to be averaged."""
        found = self._loss.predicted(outputs, piece)
        true = self._loss.world(piece.root, piece.local, piece)
        way = found.positions - true.positions
        far = 100.0 * distances_of(way - way[HEAD])
        terms = self._loss.terms(outputs, piece)
        return {
            "joint_cm": far,
            "legs_cm": far[list(LEG_JOINTS)],
            "world_cm": 100.0 * distances_of(way),
        } | {name: terms[name] for name in ("skate", "velocity", "contact")}
