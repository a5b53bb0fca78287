"""Checkpoints of pose networks as solvers that are ready to use."""

from __future__ import annotations

import os

from ambulo.ik.rig import load_rig
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.solver import NeuralIKSolver, warm_solver
from ambulo.policies.files.model_file import load_model
from ambulo.policies.kinds.ik_training import IKMetadata
from ambulo.policies.networks.ik_net import IKNet


def load_checkpoint_solver(
    path: str | os.PathLike[str],
) -> NeuralIKSolver | IKNetwork:
    """Return the network of a checkpoint as a solver; a published one as it is."""
    file = load_model(path, IKMetadata)
    config, rig = file.metadata.run.network, load_rig(file.metadata.rig)
    trained = IKNet(config, rig)
    trained.load_state_dict(file.weights)
    header = IKNetworkHeader.of(config, file.metadata.rig)
    network = IKNetwork(header, trained.tensors(), rig=rig, source=str(path))
    return network if network.is_published else warm_solver(network)
