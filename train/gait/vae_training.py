"""Training of a gait estimator: the variational network and the noise of its inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from ambulo.configs.arrays import Floats
from ambulo.configs.base import Config
from ambulo.configs.gait import GaitSpace
from ambulo.configs.gait_vae import GaitVAEConfig
from ambulo.configs.types import Count, NonNegative, Positive
from ambulo.evaluate.gait.data import GaitSet
from ambulo.policies.networks.gait_inverse import (
    IDENTIFIED,
    PRIOR_DEVIATION,
    GaitInverse,
    mean_cycle,
)
from ambulo.policies.networks.gait_vae import FRAMES, GaitVAE
from ambulo.policies.networks.pose_noise import CYCLE_FRAMES, fit_noise

Network = Callable[[Tensor, Tensor], Tensor]

CALIBRATED = 48
"""Gaits whose estimates decide the deviations of later ones."""
MAX_ERROR_RATIO = 0.5
"""Motions do not determine a parameter whose mean error is above this fraction of the error
of always predicting the mean."""
MIN_TRUST = 0.5
"""Smallest factor of the deviations, because few gaits calibrate them."""


class VAETrainingConfig(Config):
    """How the variational network learns."""

    epochs: Count = 60
    """Passes over the gaits."""
    batch_size: Annotated[int, Field(ge=2)] = 64
    """Gaits of a step."""
    learning_rate: Positive = 1e-3
    """Adam step size at first."""
    schedule: Literal["constant", "cosine"] = "cosine"
    """How it goes on: `cosine` falls to nothing."""
    frames: Annotated[int, Field(ge=1, le=FRAMES)] = 6
    """Frames of each gait, drawn anew, that the frozen network is asked about in a step."""
    parameters: NonNegative = 50.0
    """Weight of the squared error of normalised parameters; 0 leaves them to the poses."""
    poses: NonNegative = 1.0
    """Weight of the squared error of poses that the frozen network makes of the
    parameters."""
    scaled_poses: bool = True
    """Divide that error by the numbers' deviations in the data."""
    healthy: NonNegative = 0.0
    """Weight of the pull of muscle lengths, and half of it of muscle forces, to healthy."""
    divergence: NonNegative = 1e-3
    """Weight of the latent's divergence from a normal distribution."""
    gradient_norm: Positive = 0.5
    """Longer gradients are shortened to this."""
    noise: NonNegative = 0.1
    """Noise on the poses that the encoder sees, in their deviations in the data."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Of everything random."""


PUBLISHED = VAETrainingConfig(
    learning_rate=1e-5,
    schedule="constant",
    frames=FRAMES,
    parameters=0.0,
    poses=50.0,
    scaled_poses=False,
    healthy=1.0,
    noise=0.0,
)
"""The published weights: 50 on the poses, 1 on healthy muscles, 0.001 on the divergence."""
RECIPES: dict[str, VAETrainingConfig] = {
    "own": VAETrainingConfig(),
    "published": PUBLISHED,
}
"""By name."""


def train_vae(
    network: Network,
    space: GaitSpace,
    gaits: GaitSet,
    config: VAETrainingConfig,
    vae_config: GaitVAEConfig | None = None,
    on_epoch: Callable[[int, float], None] | None = None,
) -> GaitVAE:
    """Train a network that estimates the parameters of gaits.

    Args:
        network: The frozen forward network: normalised parameters (B, P), phases (B,) ->
            poses (B, 101).
        space: Its parameters.
        gaits: Training data.
        config: Settings of the training.
        vae_config: Size of the network and its given parameters.
        on_epoch: Called after each epoch with its number and mean loss.
    """
    torch.manual_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    vae = GaitVAE(space, vae_config or GaitVAEConfig())
    flat = torch.as_tensor(gaits.motions).flatten(0, 1)
    deviation = flat.std(dim=0).clamp_min(1e-3)
    vae.set_statistics(flat.mean(dim=0), deviation)
    loss = _Loss(network, space, config, deviation)
    optimizer = torch.optim.Adam(vae.parameters(), lr=config.learning_rate)
    batches = max(1, len(gaits) // config.batch_size)
    steps = config.epochs * batches
    done = 0
    for epoch in range(config.epochs):
        order, total = rng.permutation(len(gaits)), 0.0
        for rows in np.array_split(order[: batches * config.batch_size], batches):
            if config.schedule == "cosine":
                rate = 0.5 * (1.0 + math.cos(math.pi * done / steps))
                optimizer.param_groups[0]["lr"] = config.learning_rate * rate
            value = loss(vae, GaitSet(gaits.params[rows], gaits.motions[rows]))
            optimizer.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(vae.parameters(), config.gradient_norm)
            optimizer.step()
            total += float(value.detach())
            done += 1
        if on_epoch is not None:
            on_epoch(epoch + 1, total / batches)
    return vae.requires_grad_(False).eval()


def vae_errors(vae: GaitVAE, gaits: GaitSet) -> Floats:
    """Root mean square error of each normalised parameter on `gaits`. Shape (P,)."""
    params = torch.as_tensor(gaits.params)
    with torch.no_grad():
        known = params[:, vae.known]
        mean, _ = vae.encode(torch.as_tensor(gaits.motions), known)
        errors = vae.decode(mean, known) - params
    return np.sqrt(np.square(errors.double().numpy()).mean(axis=0))


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


class _Loss:
    """Loss of the variational network."""

    def __init__(
        self,
        network: Network,
        space: GaitSpace,
        config: VAETrainingConfig,
        deviation: Tensor,
    ) -> None:
        self._network, self._config = network, config
        self._deviation = deviation
        self._healthy = torch.as_tensor(space.normalize(space.default)).float()
        pull = {"muscle_length": 1.0, "muscle_force": 0.5}
        self._pull = torch.tensor([pull.get(p.group, 0.0) for p in space.parameters])

    def __call__(self, vae: GaitVAE, gaits: GaitSet) -> Tensor:
        config = self._config
        params, poses = torch.as_tensor(gaits.params), torch.as_tensor(gaits.motions)
        seen = poses
        if config.noise:
            seen = poses + config.noise * self._deviation * torch.randn_like(poses)
        found, mean, log_variance = vae(seen, params)
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1.0 - log_variance)
        total = config.divergence * divergence.sum(dim=1).mean()
        if config.parameters:
            error = (found - params)[:, vae.free]
            total = total + config.parameters * error.square().mean()
        if config.poses:
            total = total + config.poses * self._pose_error(found, poses)
        if config.healthy:
            away = self._pull * (found - self._healthy).square()
            total = total + config.healthy * away.mean()
        return total

    def _pose_error(self, found: Tensor, poses: Tensor) -> Tensor:
        """Mean squared error of the frozen network's poses for parameters (B, P)."""
        count = self._config.frames
        frames = torch.argsort(torch.rand(len(found), FRAMES), dim=1)[:, :count]
        phases = (frames % CYCLE_FRAMES).float() / CYCLE_FRAMES
        rows = found.repeat_interleave(count, dim=0)
        said = self._network(rows, phases.flatten()).reshape(len(found), count, -1)
        wanted = torch.take_along_dim(poses, frames[..., None], dim=1)
        error = said - wanted
        if self._config.scaled_poses:
            error = error / self._deviation
        return error.square().mean()
