"""Bodies of motion networks: a residual perceptron, and a small transformer over frames."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ambulo.configs.motion_nn import MotionNNConfig


class ResidualBlock(nn.Module):
    """x + W2 gelu(W1 norm(x)), with dropout."""

    def __init__(self, width: int, dropout: float) -> None:
        """Create a block of hidden size 2 `width`."""
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Shape (..., width) -> (..., width)."""
        hidden = functional.gelu(self.up(self.norm(x)))
        return x + self.dropout(self.down(hidden))


class Perceptron(nn.Module):
    """All frames of the history, side by side, through residual blocks."""

    def __init__(self, inputs: int, config: MotionNNConfig) -> None:
        """For `inputs` numbers a frame."""
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.embed = nn.Linear(config.history * inputs, config.width)
        self.blocks = nn.Sequential(
            *(ResidualBlock(config.width, config.dropout) for _ in range(config.depth))
        )
        self.norm = nn.LayerNorm(config.width)

    def forward(self, x: Tensor) -> Tensor:
        """Frames (B, H, inputs) -> one hidden state (B, 1, width)."""
        hidden = self.blocks(self.dropout(self.embed(x.flatten(1))))
        return self.norm(hidden)[:, None]


class Attention(nn.Module):
    """Self-attention over frames with rotary positions (Su et al., RoFormer, 2021)."""

    angles: Tensor

    def __init__(self, config: MotionNNConfig, *, causal: bool) -> None:
        """`causal` frames see the past and themselves only."""
        super().__init__()
        self.heads, self.causal = config.heads, causal
        self.mix = nn.Linear(config.width, 3 * config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)
        half = config.width // config.heads // 2
        rates = 10_000.0 ** (-torch.arange(half) / half)
        angles = torch.arange(config.history)[:, None] * rates
        self.register_buffer("angles", angles, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Shape (B, T, width) -> (B, T, width)."""
        mixed = self.mix(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = self._turned(mixed[0]), self._turned(mixed[1]), mixed[2]
        seen = functional.scaled_dot_product_attention(
            query, key, value, is_causal=self.causal
        )
        return self.out(seen.transpose(1, 2).flatten(2))

    def _turned(self, x: Tensor) -> Tensor:
        angles = self.angles[: x.shape[-2]].to(x.dtype)
        cos, sin = torch.cos(angles), torch.sin(angles)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Layer(nn.Module):
    """A pre-norm transformer layer: RMSNorm, attention, SwiGLU (Shazeer, 2020)."""

    def __init__(self, config: MotionNNConfig, *, causal: bool) -> None:
        """Create it with the width, heads and dropout of `config`."""
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(config.width), nn.RMSNorm(config.width)
        self.attention = Attention(config, causal=causal)
        self.up = nn.Linear(config.width, 4 * config.width, bias=False)
        self.down = nn.Linear(2 * config.width, config.width, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Shape (B, T, width) -> (B, T, width)."""
        x = x + self.dropout(self.attention(self.norm1(x)))
        gate, value = self.up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.dropout(self.down(functional.silu(gate) * value))


class Transformer(nn.Module):
    """Causal transformer over frames: output t depends on the frames 0..t alone."""

    def __init__(self, inputs: int, config: MotionNNConfig) -> None:
        """For `inputs` numbers a frame; mode `encoder` sees the whole history at once."""
        super().__init__()
        causal = config.mode == "transformer_reg"
        self.dropout = nn.Dropout(config.dropout)
        self.embed = nn.Linear(inputs, config.width)
        self.layers = nn.Sequential(
            *(Layer(config, causal=causal) for _ in range(config.depth))
        )
        self.norm = nn.RMSNorm(config.width)
        if not causal:
            self.masked = nn.Parameter(torch.zeros(config.width))

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> Tensor:
        """Frames (B, T, inputs), those that `hidden` (B, T) marks unseen -> (B, T, width)."""
        x = self.dropout(self.embed(x))
        if hidden is not None:
            x = torch.where(hidden[..., None], self.masked, x)
        return self.norm(self.layers(x))


class Ensemble(nn.Module):
    """Several trunks whose hidden states are averaged; each learns from its own windows.

    In training a batch is dealt out, one part to each trunk, so that they stay different;
    the heads are linear, so the mean hidden state gives the mean prediction (bagging,
    Breiman 1996).
    """

    def __init__(self, inputs: int, config: MotionNNConfig) -> None:
        """`members` trunks of the mode of `config`."""
        super().__init__()
        trunk = Perceptron if config.mode == "mlp" else Transformer
        self.members = nn.ModuleList(
            trunk(inputs, config) for _ in range(config.members)
        )

    def forward(self, x: Tensor, *hidden: Tensor) -> Tensor:
        """As the trunks do; `hidden` marks unseen frames in mode `encoder`."""
        if self.training:
            dealt = [part.tensor_split(len(self.members)) for part in (x, *hidden)]
            rows = zip(self.members, *dealt, strict=True)
            return torch.cat([member(*parts) for member, *parts in rows])
        return torch.stack([member(x, *hidden) for member in self.members]).mean(0)
