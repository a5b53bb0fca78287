"""A small network that gives the probability that an agent is lost, and its fit.

It reads the actor's last hidden layer and never changes the policy. Calibration is Platt
scaling (Platt 1999: "Probabilistic outputs for support vector machines"), folded into the
last layer, so that a file holds nothing but layers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ambulo.configs.arrays import Bools, Floats, Singles
from ambulo.policies.files.lost_header import PREFIX, LogitMap, LostHeader

HIDDEN = 32
"""Width of the hidden layer."""
UPDATES, BATCH = 2000, 512
"""Updates of the fit, and decisions of each."""
LEARNING_RATE, DECAY = 1e-3, 0.1
"""First step size, which falls to 0 linearly, and weight decay (AdamW)."""
_LEAST_SPREAD = 1e-3
"""Least standard deviation that an input is divided by."""
_MOST_FACTOR = 1e3
"""Largest factor of a calibration."""


class LostHead(nn.Module):
    """Latents (N, W) of an actor to logits (N,) of being lost."""

    def __init__(self, latent: int, hidden: int = HIDDEN) -> None:
        """Weights not yet set; `hidden` = 0 for one linear layer."""
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(latent, hidden or 1)]
        if hidden:
            layers += [nn.ReLU(), nn.Linear(hidden, 1)]
        self.layers = nn.Sequential(*layers)
        self.hidden = hidden

    @classmethod
    def of(cls, header: LostHeader, weights: Mapping[str, Tensor]) -> LostHead:
        """The head inside the weights of a model file, ready to use."""
        latent = weights[f"{PREFIX}.0.weight"].shape[1]
        with torch.random.fork_rng(devices=[]):
            head = cls(latent, header.hidden)
        own = {
            name.removeprefix(f"{PREFIX}."): tensor
            for name, tensor in weights.items()
            if name.startswith(f"{PREFIX}.")
        }
        head.layers.load_state_dict(own)
        return head.eval().requires_grad_(False)

    def forward(self, latent: Tensor) -> Tensor:
        """Logits, shape (N,)."""
        logits: Tensor = self.layers(latent)
        return logits[:, 0]

    def linear_layers(self) -> list[tuple[Singles, Singles]]:
        """Return weight (outputs, inputs) and bias of each layer, as arrays."""
        return [
            (layer.weight.detach().numpy(), layer.bias.detach().numpy())
            for layer in self.layers
            if isinstance(layer, nn.Linear)
        ]

    def weights(self) -> dict[str, Tensor]:
        """Return copies of the weights by the names of a model file."""
        return {
            f"{PREFIX}.{name}": tensor.detach().clone()
            for name, tensor in self.layers.state_dict().items()
        }

    def calibrate(self, logits: LogitMap) -> None:
        """Let the last layer also map its logits by factor and offset."""
        factor, offset = logits
        last = self.layers[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.mul_(factor)
            last.bias.mul_(factor).add_(offset)


def fit_head(
    latent: Singles, lost: Bools, *, hidden: int = HIDDEN, seed: int = 0
) -> LostHead:
    """Return a head fitted by logistic regression, every decision weighted alike.

    Args:
        latent: Latents of the actor at decisions. Shape (S, W).
        lost: Whether the agent was lost there. Shape (S,).
        hidden: Width of the hidden layer; 0 for none.
        seed: Of weights and order.
    """
    inputs = torch.as_tensor(latent, dtype=torch.float32)
    target = torch.as_tensor(lost, dtype=torch.float32)
    mean = inputs.mean(dim=0)
    spread = inputs.std(dim=0, correction=0) + _LEAST_SPREAD
    inputs = (inputs - mean) / spread
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = LostHead(inputs.shape[1], hidden)
        _descend(head, inputs, target)
    first = head.layers[0]
    assert isinstance(first, nn.Linear)
    with torch.no_grad():  # the file's head reads the latent as it is
        first.weight.div_(spread)
        first.bias.sub_(first.weight @ mean)
    return head.eval().requires_grad_(False)


def _descend(head: LostHead, inputs: Tensor, target: Tensor) -> None:
    """Minimise the cross-entropy of `head` by AdamW."""
    optimizer = torch.optim.AdamW(
        head.parameters(), lr=LEARNING_RATE, weight_decay=DECAY
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: 1.0 - done / UPDATES
    )
    for _ in range(UPDATES):
        rows = torch.randint(len(inputs), (BATCH,))
        loss = binary_cross_entropy_with_logits(head(inputs[rows]), target[rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()


def platt(scores: Floats | Singles, lost: Bools) -> LogitMap:
    """Return factor and offset of the logit that fit `lost` best: Platt scaling.

    The targets are Platt's: (hits + 1) / (hits + 2) for lost decisions and 1 / (misses + 2)
    for others, so that the factor stays finite where the scores part them perfectly.

    Args:
        scores: One number a decision. Shape (S,).
        lost: Whether the agent was lost. Shape (S,).
    """
    x = np.asarray(scores, np.float64)
    hits, misses = int(lost.sum()), int((~lost).sum())
    target = np.where(lost, (hits + 1.0) / (hits + 2.0), 1.0 / (misses + 2.0))
    mean, spread = float(x.mean()), float(x.std()) + 1e-12
    z = (x - mean) / spread

    def loss(theta: Floats) -> tuple[float, Floats]:
        logit = theta[0] * z + theta[1]
        wrong = _sigmoid(logit) - target
        value = np.logaddexp(0.0, logit) - target * logit
        return float(value.mean()), np.array([(wrong * z).mean(), wrong.mean()])

    limit = (-_MOST_FACTOR, _MOST_FACTOR)
    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[limit] * 2)
    factor = float(found.x[0]) / spread
    return factor, float(found.x[1]) - factor * mean


def mapped(scores: Floats | Singles, logits: LogitMap) -> Floats:
    """Return the probabilities of `scores` under a map of `platt`. Shape (S,)."""
    return _sigmoid(logits[0] * np.asarray(scores, np.float64) + logits[1])


def _sigmoid(logit: Floats) -> Floats:
    return np.exp(-np.logaddexp(0.0, -logit))
