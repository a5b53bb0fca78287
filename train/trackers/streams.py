"""What body trackers learn from: many movements side by side, in pieces that follow each other.

Each stream is a part of a clip with its own varied body, pace, trackers and errors. The state
of the network goes on from piece to piece, so that it learns from whole clips at the cost
of short pieces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ambulo.configs.body_tracker import TrackerDataConfig
from ambulo.ik.trackers.layout import (
    FORGET,
    HEAD_ROW,
    HIPS_ROW,
    LEFT_FOOT,
    LEFT_HAND,
    RIGHT_FOOT,
    RIGHT_HAND,
    TICK,
    TRACKED,
)
from ambulo.ik.trackers.shape import parts_of_joints
from ambulo.ik.trackers.sizes import (
    TRACKERS,
)
from ambulo.train.ik.kinematics import TreeKinematics, matrices_of_rotvec, product
from ambulo.train.trackers.features import TrackerTicks
from ambulo.train.trackers.sources import SequenceSource

ALWAYS = (LEFT_HAND, RIGHT_HAND, HEAD_ROW)
"""Trackers that every player has."""
OFTEN = 0.6
"""How often each other tracker is there where not only three are."""
MIN_LOST, MAX_LOST = 0.1, 2.0
"""Shortest and longest time for which a tracker is lost, [s]."""
STEADY_HEAD = 0.4
"""Errors of a headset's place on the head over those of other trackers."""
FAST_FRAME = 1.0 / 36.0
"""Time between network steps at 72 frames a second, [s]: two frames."""
LATE = 0.05
"""Fraction of network steps that are a frame late."""
FRAME = 1.0 / 60.0
"""Time of a late frame, [s]."""


@dataclass
class TrackerPiece:
    """T network steps of B streams, and the true poses `lead` seconds after each."""

    ticks: TrackerTicks
    """T + 1 steps: the first is the step before."""
    root: Tensor
    """True position of the pelvis, [m]. Shape (3, T, B)."""
    local: Tensor
    """True local rotations. Shape (23, 3, 3, T, B)."""
    sizes: Tensor
    """True lengths of the joints' offsets over human23's. Shape (23, B)."""
    ratios: Tensor
    """True proportions. Shape (3, B)."""
    fresh: Tensor
    """Streams that begin with this piece. Shape (B,)."""


class Streams:
    """B streams, from which pieces are drawn one after the other."""

    def __init__(
        self,
        source: SequenceSource,
        config: TrackerDataConfig,
        kinematics: TreeKinematics,
        *,
        count: int,
        steps: int,
        lead: float,
        seed: int,
    ) -> None:
        """Begin `count` streams of pieces of `steps` network steps each."""
        self.source, self.config, self._kinematics = source, config, kinematics
        self.count, self.steps, self.lead = count, steps, lead
        self._weights = source.weights(config.balance)
        self._parts = torch.from_numpy(parts_of_joints().copy())
        self._rng = np.random.default_rng(seed)
        self._torch = torch.Generator().manual_seed(seed)
        size = (count,)
        self.clip = torch.zeros(size, dtype=torch.long)
        self.time, self.left = torch.zeros(size), torch.zeros(size)
        self.pace, self.interval = torch.ones(size), torch.full(size, TICK)
        self.mirrored = torch.zeros(size, dtype=torch.bool)
        self.ratios, self.given = torch.ones(3, count), torch.ones(3, count)
        self.there = torch.ones(TRACKERS, count)
        self.noise, self.turn_noise = torch.zeros(size), torch.zeros(size)
        self.rate = torch.zeros(size)
        self.grip = torch.zeros(TRACKERS, 3, count)
        self.grip_turn = torch.zeros(TRACKERS, 3, 3, count)
        self.lost = torch.zeros(TRACKERS, count)
        self.ages = torch.zeros(TRACKERS, count)
        self._before: tuple[Tensor, Tensor, Tensor] | None = None

    def draw(self) -> TrackerPiece:
        """Return the next piece; streams whose clip is over begin another one."""
        fresh = self.left < self._longest()
        self._begin(fresh)
        steps, count = self.steps, self.count
        late = torch.rand(steps, count, generator=self._torch) < LATE
        intervals = self.interval + FRAME * late
        times = self.time + torch.cumsum(intervals * self.pace, dim=0)
        self.time, self.left = times[-1], self.left - (times[-1] - self.time)
        sizes = self.ratios[self._parts]
        clips, mirrored = self.clip.repeat(steps), self.mirrored.repeat(steps)
        wide = sizes.repeat(1, steps)
        leg = self.ratios[2] / self.source.ratios[2, self.clip]
        seen = self.source.sample(clips, times.reshape(-1), mirrored)
        places, turns = self._kinematics.world(
            seen.root * leg.repeat(steps), seen.local, wide
        )
        ticks = self._trackers(places, turns, intervals, fresh)
        ahead = (times + self.lead * self.pace).reshape(-1)
        true = self.source.sample(clips, ahead, mirrored)
        shape = (steps, count)
        return TrackerPiece(
            ticks,
            (true.root * leg.repeat(steps)).reshape(3, *shape),
            true.local.reshape(-1, 3, 3, *shape),
            sizes,
            self.ratios.clone(),
            fresh,
        )

    def _longest(self) -> Tensor:
        """Clip time that a piece may take at most, [s]. Shape (B,)."""
        steps = self.steps * (self.interval + 2.0 * LATE * FRAME) + 0.1
        return (steps + self.lead) * self.pace

    def _begin(self, fresh: Tensor) -> None:
        """Draw a clip, a body, trackers and errors for the streams `fresh` (B,)."""
        rows = torch.nonzero(fresh).ravel()
        n = len(rows)
        if not n:
            return
        config, rng = self.config, self._rng
        clips = torch.from_numpy(rng.choice(len(self._weights), n, p=self._weights))
        self.clip[rows] = clips
        self.mirrored[rows] = torch.from_numpy(rng.random(n) < config.mirror)
        pace = np.exp(np.log1p(config.speed) * rng.uniform(-1.0, 1.0, n))
        self.pace[rows] = torch.from_numpy(pace).float()
        fast = rng.random(n) < 0.25
        self.interval[rows] = torch.from_numpy(np.where(fast, FAST_FRAME, TICK)).float()
        length = (self.source.frames[clips] - 1) / self.source.fps
        room = (length - self._longest()[rows]).clamp(min=0.0)
        start = torch.from_numpy(rng.random(n)).float() * room
        start[torch.from_numpy(rng.random(n) < 0.3)] = 0.0
        self.time[rows], self.left[rows] = start, length - start
        own = self.source.ratios[:, clips]
        varied = own * torch.exp(config.proportions * self._normal(rng, 3, n))
        self.ratios[:, rows] = varied
        error = config.shape_error * np.where(
            rng.random(n) < config.known_shape, 0.25, 1.0
        )
        common = self._normal(rng, 1, n)
        errors = torch.from_numpy(error).float() * (common + self._normal(rng, 3, n))
        self.given[:, rows] = varied * torch.exp(errors)
        there = np.zeros((TRACKERS, n))
        there[list(ALWAYS)] = 1.0
        for row in (LEFT_FOOT, RIGHT_FOOT, HIPS_ROW):
            there[row] = rng.random(n) < OFTEN
        there[(LEFT_FOOT, RIGHT_FOOT, HIPS_ROW),] *= rng.random(n) >= config.three
        self.there[:, rows] = torch.from_numpy(there).float()
        amount = rng.random(n) ** 2
        self.noise[rows] = torch.from_numpy(config.noise * amount).float()
        self.turn_noise[rows] = torch.from_numpy(config.turn_noise * amount).float()
        loose = torch.ones(TRACKERS, 1, 1)
        loose[HEAD_ROW] = STEADY_HEAD
        self.grip[:, :, rows] = config.grip * loose * self._normal(rng, TRACKERS, 3, n)
        turns = config.grip_turn * loose * self._normal(rng, TRACKERS, 3, n)
        self.grip_turn[..., rows] = matrices_of_rotvec(turns)
        often = np.where(rng.random(n) < 0.5, 0.0, config.dropout)
        self.rate[rows] = torch.from_numpy(often).float()
        self.lost[:, rows] = 0.0
        self.ages[:, rows] = torch.where(self.there[:, rows] > 0.0, 0.0, FORGET)

    @staticmethod
    def _normal(rng: np.random.Generator, *shape: int) -> Tensor:
        return torch.from_numpy(rng.standard_normal(shape)).float()

    def _trackers(
        self, places: Tensor, turns: Tensor, intervals: Tensor, fresh: Tensor
    ) -> TrackerTicks:
        """What the trackers say at all steps, with the step before in front."""
        steps, count = self.steps, self.count
        rows = torch.tensor(TRACKED)
        true_p = places[rows].reshape(TRACKERS, 3, steps, count).permute(2, 0, 1, 3)
        true_r = (
            turns[rows].reshape(TRACKERS, 3, 3, steps, count).permute(3, 0, 1, 2, 4)
        )
        arms = (true_r * self.grip[:, None]).sum(3)
        noise = self.noise * torch.randn(true_p.shape, generator=self._torch)
        positions = true_p + arms + noise
        shake = self.turn_noise * torch.randn(true_p.shape, generator=self._torch)
        shaken = matrices_of_rotvec(shake.reshape(-1, 3, count)).reshape(true_r.shape)
        grip = self.grip_turn.expand(steps, -1, -1, -1, -1)
        flat = (steps * TRACKERS, 3, 3, count)
        rotations = product(
            product(true_r.reshape(flat), grip.reshape(flat)), shaken.reshape(flat)
        ).reshape(true_r.shape)
        present, ages = self._presence(intervals)
        if self._before is None:
            self._before = (positions[0], rotations[0], present[0])
        before = [
            torch.where(fresh, new[0], old)
            for new, old in zip(
                (positions, rotations, present), self._before, strict=True
            )
        ]
        positions = torch.cat([before[0][None], positions])
        rotations = torch.cat([before[1][None], rotations])
        present = torch.cat([before[2][None], present])
        ages = torch.cat([torch.zeros_like(ages[:1]), ages])
        seen = self._last_seen(present)
        positions = positions.gather(0, seen[:, :, None].expand_as(positions))
        rotations = rotations.gather(0, seen[:, :, None, None].expand_as(rotations))
        self._before = (positions[-1], rotations[-1], present[-1])
        return TrackerTicks(
            positions, rotations, present, ages,
            torch.cat([intervals[:1], intervals]), self.given.clone(),
        )  # fmt: skip

    def _presence(self, intervals: Tensor) -> tuple[Tensor, Tensor]:
        """Presence and ages (T, 6, B) of all steps."""
        steps = len(intervals)
        draws = torch.rand(steps, TRACKERS, self.count, generator=self._torch)
        lengths = torch.rand(steps, TRACKERS, self.count, generator=self._torch)
        present, ages = [], []
        for step in range(steps):
            interval = intervals[step]
            begins = (draws[step] < self.rate * interval) & (self.lost <= 0.0)
            length = MIN_LOST + (MAX_LOST - MIN_LOST) * lengths[step] ** 2
            self.lost = torch.where(begins, length, self.lost - interval)
            now = self.there * (self.lost <= 0.0)
            self.ages = torch.where(now > 0.0, 0.0, self.ages + interval)
            present.append(now)
            ages.append(self.ages)
        return torch.stack(present), torch.stack(ages)

    @staticmethod
    def _last_seen(present: Tensor) -> Tensor:
        """For each step the last one at which the tracker was seen, or 0. (T + 1, 6, B)."""
        steps = torch.arange(len(present))[:, None, None]
        return torch.cummax(torch.where(present > 0.0, steps, 0), dim=0).values
