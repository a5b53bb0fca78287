"""Settings of imitating a teacher before reinforcement learning (DAgger)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.types import Count, Fraction, NonNegative, Positive, Steps


class ImitationConfig(Config):
    """Imitation of a teacher before reinforcement learning (DAgger).

    The network is trained on states that it visits itself, to reproduce the teacher's actions
    there (S. Ross, G. Gordon and A. Bagnell, A Reduction of Imitation Learning and Structured
    Prediction to No-Regret Online Learning, AISTATS 2011).
    """

    samples: Count = 300_000
    """Total number of states labelled by the teacher."""
    rounds: Count = 30
    """Rounds of collecting and fitting."""
    epochs: Count = 6
    """Passes over all collected states in each round."""
    last_epochs: Count = 20
    """Passes after the last round."""
    batch_size: Annotated[int, Field(ge=2)] = 1024
    """Minibatch size."""
    learning_rate: Positive = 1e-3
    """Adam step size; it falls to a tenth in the last passes."""
    mix_rounds: Steps = 3
    """Number of first rounds in which the teacher acts, with noise; then the network acts."""
    mix_decay: Fraction = 0.0
    """After these rounds the teacher still acts for a fraction of the environments:
    `mix_decay` in the first round after, its square in the next, and so on."""
    noise: NonNegative = 0.1
    """Standard deviation of noise on the executed actions, [actions]."""
    critic_updates: Steps = 10
    """Initial PPO updates that train the critic only."""
