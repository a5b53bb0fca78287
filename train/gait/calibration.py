"""Calibration of least squares from motions to gait parameters, on held-out gaits."""

from __future__ import annotations

import numpy as np
import torch

from ambulo.configs.arrays import Floats
from ambulo.configs.gait import GaitSpace
from ambulo.motion.gaits.gait_sets import GaitSet
from ambulo.policies.networks.gait_inverse import (
    IDENTIFIED,
    PRIOR_DEVIATION,
    GaitInverse,
    Network,
    mean_cycle,
)
from ambulo.policies.networks.pose_noise import CYCLE_FRAMES, fit_noise

CALIBRATED = 48
"""Gaits whose estimates decide the deviations of later ones."""
MAX_ERROR_RATIO = 0.5
"""Motions do not determine a parameter whose mean error is above this fraction of the error
of always predicting the mean."""
MIN_TRUST = 0.5
"""Smallest factor of the deviations, because few gaits calibrate them."""


def differences_of(network: Network, gaits: GaitSet) -> Floats:
    """Mean cycles minus the network's for their true parameters. Shape (N, 30, 101)."""
    phases = torch.arange(CYCLE_FRAMES, dtype=torch.float32) / CYCLE_FRAMES
    out = np.empty((len(gaits), CYCLE_FRAMES, gaits.motions.shape[2]))
    for row in range(len(gaits)):
        rows = torch.as_tensor(gaits.params[row]).expand(CYCLE_FRAMES, -1)
        with torch.no_grad():
            said = network(rows, phases).double().numpy()
        out[row] = mean_cycle(gaits.motions[row]) - said
    return out


def calibrated_inverse(
    network: Network, space: GaitSpace, gaits: GaitSet, given: tuple[str, ...] = ()
) -> GaitInverse:
    """Return a least-squares estimator with deviations calibrated on held-out `gaits`.

    First the noise model is fitted to the differences between `gaits` and the network.
    Then the parameters of `gaits` are estimated twice. The first pass finds parameters
    that motions do not determine: their errors are those of a guess. The second pass
    scales the deviations of the others to their errors (95 % quantile).
    """
    noise = fit_noise(differences_of(network, gaits))
    rows = np.linspace(0, len(gaits) - 1, min(CALIBRATED, len(gaits))).astype(int)
    truth = np.clip(gaits.params[rows].astype(np.float64), 0.0, 1.0)
    trust = np.ones(space.size)
    for last in (False, True):
        inverse = GaitInverse(network, space, noise, trust=trust, starts=1)
        errors, doubts = np.empty_like(truth), np.empty_like(truth)
        for k, row in enumerate(rows.tolist()):
            named = space.named(space.denormalize(truth[k]))
            known = {name: named[name] for name in given}
            found = inverse.estimate(gaits.motions[row], known)
            errors[k] = space.normalize(found.values) - truth[k]
            doubts[k] = np.maximum(found.deviation / (space.high - space.low), 1e-9)
        if last:
            ratio = np.quantile(np.abs(errors) / doubts, 0.95, axis=0) / 1.96
            trust = np.where(trust > 0.0, np.maximum(ratio, MIN_TRUST), 0.0)
            wide = np.median(trust * doubts, axis=0) > IDENTIFIED * PRIOR_DEVIATION
            trust[wide] = 0.0
        else:
            guess = np.abs(truth - truth.mean(axis=0)).mean(axis=0)
            lost = np.abs(errors).mean(axis=0) > MAX_ERROR_RATIO * guess
            is_given = np.isin(space.names, given)
            trust = np.where(lost & ~is_given, 0.0, 1.0)
    return GaitInverse(network, space, noise, trust=trust)
