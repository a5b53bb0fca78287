"""The policy class that a locomotion configuration chooses, and its arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import spaces
from torch import Tensor

from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.configs.simulation_nn import SimulationNetworkConfig
from ambulo.policies.files.headers import DescribedLayout
from ambulo.policies.networks.mode_policy import ModePolicy, TwoLevelPolicy
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.networks.motion_prior import SimulationNNWithPrior
from ambulo.policies.networks.simulation_nn import Columns, SimulationNN

POLICIES: dict[str, type[SimulationNN]] = {
    "simple": SimulationNN,
    "prior": SimulationNNWithPrior,
    "modes": ModePolicy,
    "two_level": TwoLevelPolicy,
}
"""The policy classes by `network.policy`."""


def policy_kwargs(
    network: SimulationNetworkConfig,
    layout: DescribedLayout,
    encoder: MotionNNConfig | MotionNN | None = None,
) -> dict[str, Any]:
    """Return the arguments of the policy class besides spaces and step size.

    Args:
        network: Settings.
        layout: Of the observations.
        encoder: The motion network of a prior.
    """
    columns = Columns.of(layout.schema())
    fixed = network.normalize_samples == 0
    scales = layout.scales() if fixed else np.ones(columns.size, np.float32)
    kwargs = {"columns": columns, "scales": scales, "network": network}
    return kwargs if network.prior is None else {**kwargs, "encoder": encoder}


def make_policy(
    network: SimulationNetworkConfig,
    layout: DescribedLayout,
    actions: int,
    encoder: MotionNNConfig | None = None,
) -> SimulationNN:
    """Return a policy without a learner, for weights that come with a file."""
    kwargs = policy_kwargs(network, layout, encoder)
    seen = spaces.Box(-np.inf, np.inf, (kwargs["columns"].size,), np.float32)
    moves = spaces.Box(-1.0, 1.0, (actions,), np.float32)
    return POLICIES[network.policy](
        seen, moves, no_learning, optimizer_class=NoOptimizer, **kwargs
    )


class NoOptimizer:
    """Holds the parameters of a policy that does not learn.

    Optimisers of torch load its compiler when they are made, which takes over a second.
    """

    def __init__(self, parameters: Iterable[Tensor], **settings: Any) -> None:
        """Hold `parameters` with their settings."""
        self.param_groups = [{"params": list(parameters), **settings}]

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Hold more parameters."""
        self.param_groups.append(group)


def no_learning(remaining: float) -> float:
    """Step size of a policy that does not learn."""
    del remaining
    return 0.0
