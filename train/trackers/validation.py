"""Validation of body trackers while they learn: errors of the network on other people."""

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
from ambulo.train.trackers.streams import Streams

COUNT, PIECES = 128, 8
"""Streams, and pieces of each."""
CLEAN = TrackerDataConfig(
    balance=1.0, mirror=0.0, proportions=0.0, speed=0.0, known_shape=1.0,
    noise=0.0, turn_noise=0.0, grip=0.0, grip_turn=0.0, three=1.0, dropout=0.0,
)  # fmt: skip
"""Three trackers as captured."""
SEED = 20_000


class TrackerValidation:
    """The same streams of other people at every validation."""

    def __init__(
        self, source: SequenceSource, kinematics: TreeKinematics, loss: TrackerLoss,
        *, steps: int, lead: float,
    ) -> None:  # fmt: skip
        """Draw the pieces of the streams."""
        streams = Streams(
            source, CLEAN, kinematics, count=COUNT, steps=steps, lead=lead, seed=SEED
        )
        self._pieces = [streams.draw() for _ in range(PIECES)]
        self._loss = loss

    def scores(self, network: TrackerNet) -> tuple[float, dict[str, float]]:
        """Return the mean joint error seen from the head, [cm], and more scores."""
        state = torch.zeros(COUNT, network.config.state)
        sums: dict[str, list[Tensor]] = {}
        with torch.no_grad():
            for piece in self._pieces:
                state = torch.where(piece.fresh[:, None], 0.0, state)
                outputs, state = network(network_inputs(piece.ticks, False), state)
                found = self._loss.predicted(outputs, piece)
                true = self._loss.world(piece.root, piece.local, piece)
                way = found.positions - true.positions
                far = 100.0 * distances_of(way - way[HEAD])
                values = {
                    "joint_cm": far,
                    "legs_cm": far[list(LEG_JOINTS)],
                    "world_cm": 100.0 * distances_of(way),
                }
                terms = self._loss.terms(outputs, piece)
                values |= {
                    name: terms[name] for name in ("skate", "velocity", "contact")
                }
                for name, value in values.items():
                    sums.setdefault(name, []).append(value.mean())
        scores = {name: float(torch.stack(v).mean()) for name, v in sums.items()}
        return scores["joint_cm"], scores
