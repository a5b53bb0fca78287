"""Which gait network a command uses, and which of its gaits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ambulo.common.command_line import Arg, Flags
from ambulo.common.find_model import find_model
from ambulo.common.flag_types import Assignments, numbers_of

if TYPE_CHECKING:
    from ambulo.configs.arrays import Floats
    from ambulo.policies.agents.gait_network import GaitNetwork
    from ambulo.policies.networks.gait_net import GaitNet

DEFAULT_NETWORK = "gait_net"
"""The shipped network that is meant when nothing is said."""
DEFAULT_ESTIMATOR = "gait_estimator"
"""The shipped estimator of that network's parameters."""


@dataclass(frozen=True, kw_only=True)
class NetworkFlags(Flags):
    """Which gait network is used."""

    model: Annotated[str, Arg("MODEL")] = DEFAULT_NETWORK
    """gait network: a file, a run folder or a shipped one"""

    def network(self) -> GaitNetwork:
        """Return the network, for run time."""
        from ambulo.policies.agents.gait_network import load_gait_network

        return load_gait_network(find_model(self.model))

    def gait_net(self) -> GaitNet:
        """Return the network in torch, frozen."""
        from ambulo.policies.agents.gait_training import load_gait_net

        network, _ = load_gait_net(find_model(self.model))
        return network.requires_grad_(False).eval()


@dataclass(frozen=True, kw_only=True)
class ParameterFlags(NetworkFlags):
    """Which gait of a network is made."""

    stride: Annotated[float | None, Arg("RATIO")] = None
    """stride length over the healthy one"""
    cadence: Annotated[float | None, Arg("RATIO")] = None
    """cadence over the healthy one"""
    named: Assignments = ()
    """any other parameter, such as femur_torsion_left=0.3 (repeatable); what is not given
    is healthy"""

    def parameters(self, network: GaitNetwork) -> Floats:
        """Return the vector (P,) that the flags choose.

        Raises:
            GaitParameterError: An unknown name, or a value out of range.
            ConfigError: No number.
        """
        chosen = {"stride": self.stride, "cadence": self.cadence}
        given = {name: value for name, value in chosen.items() if value is not None}
        return network.vector(**given | numbers_of(self.named))
