"""From a motion back to gait parameters: least squares through the network, with doubt.

Several starts, Gauss-Newton steps with damping (Levenberg-Marquardt) inside the ranges,
and the Laplace approximation of the posterior around the best answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import GaitDataError
from ambulo.configs.gait import GaitSpace
from ambulo.motion.gaits.frames import frame_rate
from ambulo.motion.human23 import N_SIXDOF
from ambulo.policies.networks.pose_noise import CYCLE_FRAMES, PoseNoise, plain_noise

PRIOR_MEAN, PRIOR_DEVIATION = 0.5, 0.354
"""Prior of a normalised parameter: mean and deviation of the
grid {0, 1/4, 1/2, 3/4, 1} from which gaits are sampled."""
SHIFT_DEVIATION = 0.01
"""How exactly the cycle's beginning is known, [cycles]."""
RATE_DEVIATION = 0.01
"""Precision of the cadence from the frame rate: relative deviation of strides."""
IDENTIFIED = 0.5
"""A parameter counts as identified when its deviation is below this part of the prior's."""
SCREENED = 24
"""Random places that are looked at for one start of the descent."""
MAX_STEPS = 30
"""Most Gauss-Newton steps of a start."""
TOLERANCE = 1e-4
"""A step that lowers the cost by less than this part of it is the last."""
UNUSUAL, RESCALED = 1.5, 3
"""A misfit this much above what is taken for granted widens the differences to it, so
often at most."""
RIVAL = 2.0
"""An answer counts as a rival of the best if its cost, minus log of its probability, is
no more than this above."""
APART = 3.0
"""Two answers are different if a parameter differs by more than this many deviations."""


Network = Callable[[Tensor, Tensor], Tensor]
"""Poses (B, 101) of normalised parameters (B, P) at phases (B,); usually a `GaitNet`."""


@dataclass(frozen=True, eq=False)
class GaitEstimate:
    """Gait parameters of a motion and how sure they are."""

    space: GaitSpace
    """The parameters."""
    values: Floats
    """In their units. Shape (P,)."""
    deviation: Floats
    """Standard deviation, in their units; 0 for given ones. Shape (P,)."""
    given: Bools
    """Which were given, not estimated. Shape (P,)."""
    identified: Bools
    """Which the motion decides (or were given); the others lean on the prior. (P,)."""
    shift: float = 0.0
    """How much later in the cycle the motion begins than the network's, [cycles]."""
    misfit: float = 1.0
    """Root mean square of the whitened differences: about 1 for motions as in training;
    where the network does not know such a motion it is larger, and all deviations are
    as much wider."""
    rivals: tuple[Floats, ...] = ()
    """Other answers (P,) that explain the motion almost as well."""

    def interval(self, index: int, factor: float = 1.96) -> tuple[float, float]:
        """The parameter's 95 % interval, cut off at its range."""
        value, margin = self.values[index], factor * self.deviation[index]
        low = max(value - margin, min(self.space.low[index], value))
        high = min(value + margin, max(self.space.high[index], value))
        return float(low), float(high)

    def rows(self) -> list[dict[str, object]]:
        """One row a parameter, for tables and JSON."""
        return [
            {
                "name": name,
                "value": float(self.values[k]),
                "deviation": float(self.deviation[k]),
                "interval": list(self.interval(k)),
                "given": bool(self.given[k]),
                "identified": bool(self.identified[k]),
            }
            for k, name in enumerate(self.space.names)
        ]


class GaitInverse:
    """Finds the parameters of motions, as `network` sees them."""

    def __init__(
        self,
        network: Network,
        space: GaitSpace,
        noise: PoseNoise | None = None,
        *,
        trust: Floats | None = None,
        starts: int = 3,
    ) -> None:
        """Invert `network`, whose weights are not changed.

        Args:
            network: The forward direction.
            space: Its parameters.
            noise: What differences from it are like; plain ones if left out.
            trust: Factor on the deviation of each parameter that makes it as large as
                errors on held-out gaits; 0 where these show that motions do not determine
                the parameter, which then keeps the prior. Shape (P,).
            starts: Descents from different places.
        """
        self._network, self.space = network, space
        self.noise = plain_noise() if noise is None else noise
        self.trust = np.ones(space.size) if trust is None else trust
        self.starts = starts
        phases = torch.arange(CYCLE_FRAMES, dtype=torch.float32) / CYCLE_FRAMES
        self._phases = phases

    def estimate(
        self,
        poses: Floats,
        given: Mapping[str, float] | None = None,
        *,
        fps: float | None = None,
        seed: int = 0,
    ) -> GaitEstimate:
        """The parameters of a motion.

        Args:
            poses: Whole cycles of 30 frames, as in refined data. Shape (F, 101).
            given: Parameters that are known, in their units.
            fps: True rate of the frames, [Hz], which gives the cadence; None: the poses
                alone decide.
            seed: Of the places at which descents begin.

        Raises:
            GaitDataError: Another shape, or numbers that are not finite.
            GaitParameterError: A given parameter that there is not.
        """
        seen = _Seen(mean_cycle(poses), fps)
        fixed, free = self._parts(given or {})
        centre = np.where(free, PRIOR_MEAN, fixed)
        sought = free & (self.trust > 0.0)
        rng = np.random.default_rng(seed)
        starts = self._first(seen, centre, sought, rng)
        answers = [self._descend(start, seen, sought) for start in starts]
        answers.sort(key=lambda answer: answer.cost)
        for _ in range(RESCALED):
            misfit = self._misfit(answers[0], seen)
            if misfit <= seen.level * UNUSUAL:
                break
            # The network does not know such a motion: its poses count for less.
            seen = replace(seen, level=misfit)
            answers = [self._descend(answers[0].place[:-1], seen, sought)]
        return self._estimate(answers, seen, free)

    def predicted(self, normalised: Floats, shift: float = 0.0) -> Floats:
        """The network's cycle (30, 101) for normalised parameters (P,)."""
        rows = torch.as_tensor(normalised, dtype=torch.float32).expand(CYCLE_FRAMES, -1)
        with torch.no_grad():
            poses = self._network(rows, self._phases + shift)
        return poses.numpy().astype(np.float64)

    def _parts(self, given: Mapping[str, float]) -> tuple[Floats, Bools]:
        """All parameters, normalised, and which are free, each (P,)."""
        values = self.space.normalize(self.space.vector(**given))
        free = np.array([name not in given for name in self.space.names])
        return np.asarray(values, dtype=np.float64), free

    def _first(
        self, seen: _Seen, centre: Floats, free: Bools, rng: np.random.Generator
    ) -> list[Floats]:
        """Where descents begin: the best of random places, and the middle."""
        count = SCREENED * max(self.starts - 1, 0)
        places = np.tile(centre, (count + 1, 1))
        places[1:, free] = rng.random((count, int(free.sum())))
        rows = torch.as_tensor(places, dtype=torch.float32)
        rows = rows.repeat_interleave(CYCLE_FRAMES, dim=0)
        with torch.no_grad():
            found = self._network(rows, self._phases.repeat(len(places)))
        shaped = found.numpy().astype(np.float64).reshape(len(places), CYCLE_FRAMES, -1)
        costs = np.square(self.noise.whitened(seen.poses - shaped)).sum(axis=1)
        groups = 1 + np.arange(count).reshape(self.starts - 1, SCREENED)
        return [places[0], *(places[row[np.argmin(costs[row])]] for row in groups)]

    def _descend(self, start: Floats, seen: _Seen, free: Bools) -> _Answer:
        """Gauss-Newton with damping from `start` (P,)."""
        at = np.append(start, 0.0)
        damping = 1e-2
        cost, gradient, curvature = self._quadratic(at, seen, free)
        for _ in range(MAX_STEPS):
            step = _bounded_step(at, gradient, curvature, free, damping)
            moved = at + step
            trial = self._cost(moved, seen)
            if trial < cost:
                gain = cost - trial
                at, damping = moved, max(damping / 5.0, 1e-6)
                cost, gradient, curvature = self._quadratic(at, seen, free)
                if gain < TOLERANCE * cost:
                    break
            else:
                damping *= 8.0
                if damping > 1e6:
                    break
        return _Answer(at, cost, curvature)

    def _cost(self, at: Floats, seen: _Seen) -> float:
        """Minus the log of the posterior at `at` (P + 1,), up to a constant."""
        white = self._residual(at, seen)
        prior, tempo = _prior_residual(at), self._tempo(at, seen)
        return 0.5 * float(white @ white + prior @ prior) + 0.5 * tempo**2

    def _residual(self, at: Floats, seen: _Seen) -> Floats:
        """Whitened differences between the motion and the network. Shape (3030,)."""
        gaps = self.noise.whitened(seen.poses - self.predicted(at[:-1], at[-1]))
        return gaps / seen.level

    def _misfit(self, answer: _Answer, seen: _Seen) -> float:
        """Root mean square of the whitened differences."""
        white = self._residual(answer.place, seen)
        return seen.level * float(np.sqrt(np.square(white).mean()))

    def _tempo(self, at: Floats, seen: _Seen) -> float:
        """The difference of the rates of the frames, in its deviations."""
        if seen.fps is None:
            return 0.0
        rate = float(frame_rate(self.space, self.space.denormalize(at[:-1])))
        return float(np.log(seen.fps / rate)) / RATE_DEVIATION

    def _quadratic(
        self, at: Floats, seen: _Seen, free: Bools
    ) -> tuple[float, Floats, Floats]:
        """Cost, gradient (P + 1,) and Gauss-Newton curvature at `at`."""
        place = torch.as_tensor(at, dtype=torch.float32)

        def cycle(values: Tensor) -> Tensor:
            rows = values[:-1].expand(CYCLE_FRAMES, -1)
            return self._network(rows, self._phases + values[-1])

        jacobian = torch.func.jacfwd(cycle)(place).detach().double().numpy()
        slopes = -self.noise.whitened(np.moveaxis(jacobian, -1, 0)) / seen.level
        white, prior = self._residual(at, seen), _prior_residual(at)
        weight = _prior_weight(len(at))
        gradient = slopes @ white + weight * prior
        curvature = slopes @ slopes.T + np.diag(weight**2)
        tempo = self._tempo(at, seen)
        if seen.fps is not None:
            steps = 1e-5 * np.eye(len(at))
            rates = np.array([self._tempo(at + step, seen) for step in steps])
            rates = (rates - tempo) / 1e-5
            gradient += rates * tempo
            curvature += np.outer(rates, rates)
        fixed = np.append(~free, False)
        gradient[fixed] = 0.0
        curvature[fixed] = 0.0
        curvature[:, fixed] = 0.0
        curvature[fixed, fixed] = 1.0
        cost = 0.5 * float(white @ white + prior @ prior) + 0.5 * tempo**2
        return cost, gradient, curvature

    def _estimate(
        self, answers: list[_Answer], seen: _Seen, free: Bools
    ) -> GaitEstimate:
        best = answers[0]
        deviation = np.sqrt(np.diag(np.linalg.inv(best.curvature)))[:-1]
        deviation = np.minimum(self.trust * deviation, PRIOR_DEVIATION)
        deviation[self.trust == 0.0] = PRIOR_DEVIATION
        deviation[~free] = 0.0
        scale = self.space.high - self.space.low
        rivals = []
        for answer in answers[1:]:
            gap = np.abs(answer.place[:-1] - best.place[:-1])
            sure = np.maximum(deviation, 1e-3)
            if answer.cost < best.cost + RIVAL and (gap > APART * sure)[free].any():
                rivals.append(self.space.denormalize(answer.place[:-1]))
        return GaitEstimate(
            space=self.space,
            values=self.space.denormalize(best.place[:-1]),
            deviation=deviation * scale,
            given=~free,
            identified=~free | (deviation < IDENTIFIED * PRIOR_DEVIATION),
            shift=float(best.place[-1]),
            misfit=self._misfit(best, seen),
            rivals=tuple(rivals),
        )


@dataclass(frozen=True, eq=False)
class _Seen:
    """Observed data of a motion."""

    poses: Floats
    """Its mean cycle. Shape (30, 101)."""
    fps: float | None
    """True rate of its frames, [Hz]."""
    level: float = 1.0
    """Factor on the deviations of the differences between poses."""


@dataclass(frozen=True, eq=False)
class _Answer:
    """Where a descent ended."""

    place: Floats
    """Normalised parameters and the shift. Shape (P + 1,)."""
    cost: float
    """Minus log posterior."""
    curvature: Floats
    """Its second derivative, (P + 1, P + 1)."""


def mean_cycle(poses: Floats) -> Floats:
    """The mean (30, 101) of whole cycles of 30 frames (F, 101); rows of rotations too.

    Raises:
        GaitDataError: Another shape, or numbers that are not finite.
    """
    array = np.asarray(poses, dtype=np.float64)
    whole = array.ndim == 2 and len(array) >= CYCLE_FRAMES
    if not whole or array.shape[1] != N_SIXDOF or len(array) % CYCLE_FRAMES:
        raise GaitDataError(
            f"poses: expected whole cycles, shape (n x {CYCLE_FRAMES}, {N_SIXDOF}), got "
            f"{array.shape}"
        )
    if not np.isfinite(array).all():
        raise GaitDataError("poses: every number must be finite")
    mean: Floats = array.reshape(-1, CYCLE_FRAMES, N_SIXDOF).mean(axis=0)
    return mean


def _prior_weight(size: int) -> Floats:
    weight = np.full(size, 1.0 / PRIOR_DEVIATION)
    weight[-1] = 1.0 / SHIFT_DEVIATION
    return weight


def _prior_residual(at: Floats) -> Floats:
    """Distance from the prior's mean in its deviations. Shape (P + 1,)."""
    mean = np.full(len(at), PRIOR_MEAN)
    mean[-1] = 0.0
    return (at - mean) * _prior_weight(len(at))


def _bounded_step(
    at: Floats, gradient: Floats, curvature: Floats, free: Bools, damping: float
) -> Floats:
    """The damped Gauss-Newton step that keeps parameters within [0, 1]. Shape (P + 1,).

    Parameters at the edge that would leave are held, and the others solved for again.
    """
    held = np.append(~free, False)
    step = np.zeros(len(at))
    for _ in range(len(at)):
        moving = ~held
        system = curvature[np.ix_(moving, moving)]
        system = system + damping * np.diag(np.diag(system))
        step = np.zeros(len(at))
        step[moving] = -np.linalg.solve(system, gradient[moving])
        leaving = np.append(
            ((at <= 0.0) & (step < 0.0) | (at >= 1.0) & (step > 0.0))[:-1], False
        )
        if not (leaving & moving).any():
            break
        held |= leaving
    moved = at + step
    moved[:-1] = np.clip(moved[:-1], 0.0, 1.0)
    return moved - at
