"""Observations of a recurrent policy in a roll-out and shortly before it, and its states."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambulo.policies.networks.actor_critic import NavigationPolicy


class SequenceRecord:
    """Steps of N environments: `burn_in` before a roll-out, and those of the roll-out.

    A sequence is evaluated from the state that was stored `burn_in` steps before it, which
    the current weights bring up to date. Before a roll-out, the state that acts is brought up
    to date in the same way, so that no ratio of probabilities differs from 1 at first.
    """

    def __init__(
        self,
        envs: int,
        steps: int,
        burn_in: int,
        sizes: tuple[int, int],
        device: torch.device,
    ) -> None:
        """Room for `steps` steps; nothing has happened before the first one.

        Args:
            envs: N.
            steps: of a roll-out.
            burn_in: steps that are kept of what was before.
            sizes: numbers of an observation of the actor, and units of a state.
            device: where all is kept.
        """
        self.burn_in, self._steps, self._at = burn_in, steps, burn_in
        rows = (burn_in + steps, envs)
        self.obs = torch.zeros((*rows, sizes[0]), device=device)
        """Observations of the actor, shape (burn_in + steps, N, size)."""
        self.starts = torch.ones(rows, dtype=torch.bool, device=device)
        """Whether an episode begins with a step."""
        self.states = torch.zeros((*rows, sizes[1]), device=device)
        """States before each step."""
        self.state = torch.zeros((envs, sizes[1]), device=device)
        """State now, shape (N, units)."""

    def begin(self, policy: NavigationPolicy) -> None:
        """Keep the last steps as those before the next roll-out; bring the state up to date."""
        count, steps = self.burn_in, self._steps
        if self._at > count:  # after a roll-out; else it was restored, or is new
            for part in (self.obs, self.starts, self.states):
                part[:count] = part[steps : steps + count].clone()
        self._at = count
        if count:
            self.state = policy.advanced(
                self.obs[:count], self.states[0], self.starts[:count]
            )

    def add(self, obs: Tensor, starts: Tensor) -> Tensor:
        """Append a step of all; return the states that it begins with, shape (N, units)."""
        self.obs[self._at], self.starts[self._at] = obs, starts
        self.states[self._at] = self.state
        self._at += 1
        return self.state * ~starts[:, None]

    def sequences(self, length: int) -> dict[str, Tensor]:
        """Return the roll-out cut in sequences, the first ones of all environments first.

        For P sequences: `starts` (P, length), and `past_obs` (P, burn_in, size),
        `past_starts` (P, burn_in) and `state` (P, units) before them.
        """
        first = range(0, self._steps, length)
        burn = self.burn_in

        def before(part: Tensor) -> Tensor:
            return torch.cat([part[at : at + burn].transpose(0, 1) for at in first])

        return {
            "starts": cut(self.starts[burn:], length),
            "past_obs": before(self.obs),
            "past_starts": before(self.starts),
            "state": torch.cat([self.states[at] for at in first]),
        }

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return what the next roll-out needs, after a roll-out; a copy."""
        steps = self._steps if self._at > self.burn_in else 0
        kept = slice(steps, steps + self.burn_in)
        parts = {
            "obs": self.obs[kept],
            "starts": self.starts[kept],
            "states": self.states[kept],
            "state": self.state,
        }
        return {name: part.cpu().numpy().copy() for name, part in parts.items()}

    def load(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `arrays`; `ValueError` for those of other settings."""
        burn = self.burn_in
        parts = {
            "obs": self.obs[:burn],
            "starts": self.starts[:burn],
            "states": self.states[:burn],
            "state": self.state,
        }
        for name, part in parts.items():
            array = torch.from_numpy(np.array(arrays[name]))
            if array.shape != part.shape or array.dtype != part.dtype:
                raise ValueError(
                    f"memory.{name} has shape {tuple(array.shape)}, not {tuple(part.shape)}"
                )
            part.copy_(array)
        self._at = burn


def cut(part: Tensor, length: int) -> Tensor:
    """Cut (steps, N, ...) in sequences (P, length, ...), the first ones of all N first."""
    pieces = part.reshape(-1, length, *part.shape[1:])
    return pieces.transpose(1, 2).flatten(0, 1)
