"""Checkpoints of networks of poses, from which a training goes on."""

from __future__ import annotations

from typing import Literal

from ambulo.configs.neural_ik import IKRunConfig
from ambulo.policies.files.headers import Shapes, TrainedHeader
from ambulo.policies.files.spec import ModelSpec


class IKMetadata(TrainedHeader):
    """The contents of `ambulo.json` in a checkpoint of a network of poses."""

    kind: Literal["neural_ik"] = "neural_ik"
    """Kind of the model."""
    rig: str = "ik23"
    """The rig of its poses."""
    run: IKRunConfig
    """The network, and how it was trained; the file of poses by its name only."""

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Shapes of the configured network, which is not built in memory."""
        from ambulo.ik.rig import load_rig
        from ambulo.policies.files.network_shapes import shapes_of
        from ambulo.policies.networks.ik_net import IKNet

        return shapes_of(lambda: IKNet(self.run.network, load_rig(self.rig)))


def _headline(header: IKMetadata) -> str:
    return f"rig {header.rig}, {header.run.network.kind}, {header.steps:,} updates"


SPEC = ModelSpec(
    kind="neural_ik",
    summary="checkpoint of a pose network: effector targets to poses",
    header=IKMetadata,
    loader="ambulo.policies.agents.ik:load_checkpoint_solver",
    headline=_headline,
    graph="ambulo.policies.export.poses:solver_graph",
)
