"""From rows of named observation parts to features: statistics for numbers, convolutions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ambulo.configs.agent_spec import ObservationSpec
from ambulo.configs.errors import ConfigError
from ambulo.configs.godot import ConvLayer
from ambulo.policies.networks.normalizer import SMALLEST, Normalizer

UNIT = 1.0
"""Deviations below it count as it while an agent explores. Games scale their numbers to [-1, 1]
by the contract of godot-rl; to enlarge those that hardly vary yet would change what a policy
does whenever they begin to."""


class ObservationEncoder(nn.Module):
    """Numbers, normalised by running statistics, and behind them the features of pictures."""

    def __init__(
        self,
        parts: Sequence[ObservationSpec],
        *,
        samples: int,
        layers: Sequence[ConvLayer],
        features: int,
    ) -> None:
        """Make layers for rows (..., size) of `parts`.

        Args:
            parts: in the order of a row.
            samples: after so many, the statistics stand still; 0: numbers stay as they are.
            layers: convolutions of each picture.
            features: numbers that become of a picture.

        Raises:
            ConfigError: a picture that is too small for the convolutions; it is named.
        """
        super().__init__()
        self.parts = tuple(parts)
        columns: list[int] = []
        self.pictures = nn.ModuleList()
        self._places: list[slice] = []
        at = 0
        for part in parts:
            place = slice(at, at + part.size)
            at = place.stop
            if part.is_picture:
                self._places.append(place)
                self.pictures.append(PictureEncoder(part, layers, features))
            else:
                columns += range(place.start, place.stop)
        self.inputs = at
        """Numbers of a row."""
        self.columns = columns
        """Those that are no pictures."""
        self._all = len(columns) == at
        self.normalizer = Normalizer(len(columns), samples, UNIT)
        self.size = len(columns) + features * len(self.pictures)
        """Features."""

    def forward(self, rows: Tensor) -> Tensor:
        """Features (..., `size`) of rows (..., `inputs`)."""
        numbers: Tensor = self.normalizer(
            rows if self._all else rows[..., self.columns]
        )
        if self._all:
            return numbers
        flat = rows.reshape(-1, self.inputs)
        seen = [
            picture(flat[:, place])
            for picture, place in zip(self.pictures, self._places, strict=True)
        ]
        made = torch.cat(seen, dim=1).reshape(*rows.shape[:-1], -1)
        return torch.cat([numbers, made], dim=-1)

    def observe(self, rows: Tensor, *, is_whole: bool = False) -> None:
        """Take rows (N, `inputs`) into the statistics.

        With `is_whole` they show how far numbers vary at all, so that small ones are enlarged.
        """
        smallest = SMALLEST if is_whole else None
        self.normalizer.update(rows[:, self.columns], smallest)


class PictureEncoder(nn.Module):
    """Convolutions with ReLU, and a layer on all that comes out of them."""

    def __init__(
        self, part: ObservationSpec, layers: Sequence[ConvLayer], features: int
    ) -> None:
        """See `ObservationEncoder`."""
        super().__init__()
        height, width, channels = part.shape
        self.shape, self.high = part.shape, part.high
        modules: list[nn.Module] = []
        for layer in layers:
            conv = nn.Conv2d(channels, layer.channels, layer.kernel, layer.stride)
            nn.init.orthogonal_(conv.weight, 2.0**0.5)
            nn.init.zeros_(conv.bias)  # type: ignore[arg-type]
            modules += [conv, nn.ReLU()]
            channels = layer.channels
            height = (height - layer.kernel) // layer.stride + 1
            width = (width - layer.kernel) // layer.stride + 1
            if height < 1 or width < 1:
                raise ConfigError(
                    f"observation {part.name!r}: a picture of {part.shape[0]} x "
                    f"{part.shape[1]} is too small for network.convolutions"
                )
        last = nn.Linear(channels * height * width, features)
        nn.init.orthogonal_(last.weight, 2.0**0.5)
        nn.init.zeros_(last.bias)
        self.layers = nn.Sequential(*modules, nn.Flatten(), last, nn.ReLU())

    def forward(self, flat: Tensor) -> Tensor:
        """Features (B, features) of pictures (B, height * width * channels)."""
        picture = flat.reshape(-1, *self.shape).permute(0, 3, 1, 2) / self.high
        found: Tensor = self.layers(picture)
        return found
