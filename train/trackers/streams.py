"""Training data of body trackers: many movements side by side, in consecutive pieces.

Each stream is a part of a clip with its own varied body, pace, trackers and errors. The state
of the network goes on from piece to piece, so that it learns from whole clips at the cost
of short pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambulo.configs.arrays import Ints
from ambulo.configs.body_tracker import TrackerDataConfig
from ambulo.ik.avatar.layout import CLAVICLES, HAND
from ambulo.ik.trackers.layout import (
    FORGET,
    HEAD_ROW,
    HIPS_ROW,
    TICK,
    TRACKED,
)
from ambulo.ik.trackers.shape import parts_of_joints
from ambulo.ik.trackers.sizes import (
    TRACKERS,
)
from ambulo.train.ik.kinematics import TreeKinematics, matrices_of_rotvec, product
from ambulo.train.trackers.features import TrackerTicks
from ambulo.train.trackers.sources import PoseSamples, SequenceSource
from ambulo.train.trackers.tracker_sets import draw_sets

ARMS = tuple(range(min(CLAVICLES), max(CLAVICLES) + HAND + 1))
"""Joints of both arms, from clavicle to hand."""
MIN_LOST, MAX_LOST = 0.1, 2.0
"""Shortest and longest time for which a tracker is lost, [s]."""
STEADY_HEAD = 0.4
"""Errors of a headset's place on the head over those of other trackers."""
LOOSE_HIPS = (1.0, 3.0, 1.5)
"""Errors of the rotation of a tracker on a belt over those of others, about the axes ahead,
left and up: it tilts with the belly."""
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
        device = self.device = source.device
        self.count, self.steps, self.lead = count, steps, lead
        self._weights = source.weights(config.balance)
        self._parts = torch.from_numpy(parts_of_joints().copy()).to(device)
        self._rows = torch.tensor(TRACKED, device=device)
        self._rng = np.random.default_rng(seed)
        self._torch = torch.Generator(device).manual_seed(seed)

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(*shape, count, device=device)

        self.clip, self.arms = zeros().long(), zeros().long()
        self.time, self.left, self.arms_time = zeros(), zeros(), zeros()
        self.pace, self.interval = zeros() + 1.0, zeros() + TICK
        self.mirrored, self.mixed = zeros().bool(), zeros().bool()
        self.ratios, self.given = zeros(3) + 1.0, zeros(3) + 1.0
        self.there = zeros(TRACKERS) + 1.0
        self.noise, self.turn_noise, self.rate = zeros(), zeros(), zeros()
        self.grip, self.grip_turn = zeros(TRACKERS, 3), zeros(TRACKERS, 3, 3)
        self.lost, self.ages = zeros(TRACKERS), zeros(TRACKERS)
        self._before: tuple[Tensor, Tensor, Tensor] | None = None

    def draw(self) -> TrackerPiece:
        """Return the next piece; streams whose clip is over begin another one."""
        fresh = self.left < self._longest()
        self._begin(fresh)
        steps, count = self.steps, self.count
        late = self._uniform(steps, count) < LATE
        intervals = self.interval + FRAME * late
        times = self.time + torch.cumsum(intervals * self.pace, dim=0)
        begin = self.time
        self.time, self.left = times[-1], self.left - (times[-1] - begin)
        sizes = self.ratios[self._parts]
        clips, mirrored = self.clip.repeat(steps), self.mirrored.repeat(steps)
        wide = sizes.repeat(1, steps)
        leg = self.ratios[2] / self.source.ratios[2, self.clip]
        seen = self._sample(clips, times, mirrored, begin)
        places, turns = self._kinematics.world(
            seen.root * leg.repeat(steps), seen.local, wide
        )
        ticks = self._trackers(places, turns, intervals, fresh)
        ahead = times + self.lead * self.pace
        true = self._sample(clips, ahead, mirrored, begin)
        self.arms_time = self.arms_time + self.time - begin
        shape = (steps, count)
        return TrackerPiece(
            ticks,
            (true.root * leg.repeat(steps)).reshape(3, *shape),
            true.local.reshape(-1, 3, 3, *shape),
            sizes,
            self.ratios.clone(),
            fresh,
        )

    def _sample(
        self, clips: Tensor, times: Tensor, mirrored: Tensor, begin: Tensor
    ) -> PoseSamples:
        """The poses at `times` (T, B) of the clips (T * B,), with mixed streams' arms."""
        poses = self.source.sample(clips, times.reshape(-1), mirrored)
        mixed = self.mixed.repeat(self.steps)
        if not mixed.any():
            return poses
        length = (self.source.frames[self.arms] - 1) / self.source.fps
        passed = torch.remainder(self.arms_time + times - begin, 2.0 * length)
        there_and_back = length - (passed - length).abs()
        others = self.source.sample(
            self.arms.repeat(self.steps)[mixed],
            there_and_back.reshape(-1)[mixed],
            mirrored[mixed],
        )
        for joint in ARMS:
            poses.local[joint][..., mixed] = others.local[joint]
        return poses

    def _longest(self) -> Tensor:
        """Clip time that a piece may take at most, [s]. Shape (B,)."""
        steps = self.steps * (self.interval + 2.0 * LATE * FRAME) + 0.1
        return (steps + self.lead) * self.pace

    def _begin(self, fresh: Tensor) -> None:
        """Draw a clip, a body, trackers and errors for the streams `fresh` (B,)."""
        rows, device = torch.nonzero(fresh).ravel(), self.device
        n = len(rows)
        if not n:
            return
        config, rng = self.config, self._rng
        clips = torch.from_numpy(self._draw_clips(n)).to(device)
        self.clip[rows] = clips
        self.mirrored[rows] = self._put(rng.random(n) < config.mirror).bool()
        pace = np.exp(np.log1p(config.speed) * rng.uniform(-1.0, 1.0, n))
        self.pace[rows] = self._put(pace)
        fast = rng.random(n) < 0.25
        self.interval[rows] = self._put(np.where(fast, FAST_FRAME, TICK))
        length = (self.source.frames[clips] - 1) / self.source.fps
        room = (length - self._longest()[rows]).clamp(min=0.0)
        from_begin = rng.random(n) < 0.3
        start = self._put(np.where(from_begin, 0.0, rng.random(n))) * room
        self.time[rows], self.left[rows] = start, length - start
        self.arms[rows] = torch.from_numpy(self._draw_clips(n)).to(device)
        self.arms_time[rows] = self._put(rng.random(n)) * length
        self.mixed[rows] = self._put(rng.random(n) < config.arms).bool()
        own = self.source.ratios[:, clips]
        varied = own * torch.exp(config.proportions * self._normal(3, n))
        self.ratios[:, rows] = varied
        error = config.shape_error * np.where(
            rng.random(n) < config.known_shape, 0.25, 1.0
        )
        common = self._normal(1, n)
        errors = self._put(error) * (common + self._normal(3, n))
        self.given[:, rows] = varied * torch.exp(errors)
        there = draw_sets(rng, n, three=config.three, others=config.others)
        self.there[:, rows] = self._put(there)
        amount = rng.random(n) ** 2
        self.noise[rows] = self._put(config.noise * amount)
        self.turn_noise[rows] = self._put(config.turn_noise * amount)
        loose = torch.ones(TRACKERS, 1, 1, device=device)
        loose[HEAD_ROW] = STEADY_HEAD
        self.grip[:, :, rows] = config.grip * loose * self._normal(TRACKERS, 3, n)
        loose = loose.repeat(1, 3, 1)
        loose[HIPS_ROW, :, 0] = torch.tensor(LOOSE_HIPS, device=device)
        turns = config.grip_turn * loose * self._normal(TRACKERS, 3, n)
        self.grip_turn[..., rows] = matrices_of_rotvec(turns)
        often = np.where(rng.random(n) < 0.5, 0.0, config.dropout)
        self.rate[rows] = self._put(often)
        self.lost[:, rows] = 0.0
        self.ages[:, rows] = torch.where(self.there[:, rows] > 0.0, 0.0, FORGET)

    def _draw_clips(self, count: int) -> Ints:
        """Indices of sequences. Shape (count,)."""
        weights = self._weights
        clips: Ints = self._rng.choice(len(weights), count, p=weights)
        return clips

    def _put(self, values: NDArray[Any]) -> Tensor:
        """`values` as float32 on the device."""
        return torch.from_numpy(values.astype(np.float32)).to(self.device)

    def _normal(self, *shape: int) -> Tensor:
        return self._put(self._rng.standard_normal(shape))

    def _uniform(self, *shape: int) -> Tensor:
        return torch.rand(*shape, generator=self._torch, device=self.device)

    def _noise(self, amount: Tensor, shape: torch.Size) -> Tensor:
        """Normal noise of this standard deviation (B,)."""
        return amount * torch.randn(shape, generator=self._torch, device=self.device)

    def _trackers(
        self, places: Tensor, turns: Tensor, intervals: Tensor, fresh: Tensor
    ) -> TrackerTicks:
        """Samples of the trackers at all steps, with the step before in front."""
        steps, count = self.steps, self.count
        true_p = (
            places[self._rows].reshape(TRACKERS, 3, steps, count).permute(2, 0, 1, 3)
        )
        true_r = (
            turns[self._rows]
            .reshape(TRACKERS, 3, 3, steps, count)
            .permute(3, 0, 1, 2, 4)
        )
        arms = (true_r * self.grip[:, None]).sum(3)
        positions = true_p + arms + self._noise(self.noise, true_p.shape)
        shake = self._noise(self.turn_noise, true_p.shape)
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
        draws = self._uniform(steps, TRACKERS, self.count)
        lengths = self._uniform(steps, TRACKERS, self.count)
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
        steps = torch.arange(len(present), device=present.device)[:, None, None]
        return torch.cummax(torch.where(present > 0.0, steps, 0), dim=0).values
