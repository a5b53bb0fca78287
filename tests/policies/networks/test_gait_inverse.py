"""Parameters back from motions: exact cases, doubt, and noise with directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ambulo.configs.errors import GaitDataError, GaitParameterError
from ambulo.configs.gait import GaitParameter, GaitSpace, gait_space
from ambulo.policies.networks.gait_inverse import (
    PRIOR_DEVIATION,
    GaitInverse,
    mean_cycle,
)
from ambulo.policies.networks.pose_noise import (
    CYCLE_FRAMES,
    PoseNoise,
    fit_noise,
    plain_noise,
)

SPACE = GaitSpace(
    "three",
    (
        GaitParameter("stride", 0.5, 1.5, 1.0, "gait"),
        GaitParameter("cadence", 0.0, 2.0, 1.0, "gait"),
        GaitParameter("global", 0.8, 1.0, 1.0, "skeleton"),
    ),
)


def even_noise(deviation: float) -> PoseNoise:
    """Independent differences, all of one deviation."""
    return replace(plain_noise(), deviation=np.full(101, deviation))


class Waves(nn.Module):
    """Poses that tell two of three parameters: a wave's size and a level."""

    def forward(self, params: Tensor, phase: Tensor) -> Tensor:
        wave = params[:, 0] * torch.cos(2.0 * torch.pi * phase)
        level = params[:, 1] ** 2 + 0.2 * params[:, 1]
        return torch.stack([wave, level, wave * level], dim=1).repeat(1, 34)[:, :101]


def _poses(normalised: list[float], noise: float = 0.0, seed: int = 0) -> np.ndarray:
    inverse = GaitInverse(Waves(), SPACE)
    two = np.tile(inverse.predicted(np.array(normalised)), (2, 1))
    return two + noise * np.random.default_rng(seed).normal(size=two.shape)


def test_the_parameters_that_the_motion_tells_are_found() -> None:
    inverse = GaitInverse(Waves(), SPACE, even_noise(0.01))
    found = inverse.estimate(_poses([0.3, 0.8, 0.5]))
    np.testing.assert_allclose(found.values[:2], [0.8, 1.6], atol=2e-3)
    assert found.identified.tolist() == [True, True, False]


def test_what_nothing_tells_keeps_the_doubt_of_before() -> None:
    inverse = GaitInverse(Waves(), SPACE, even_noise(0.01))
    found = inverse.estimate(_poses([0.3, 0.8, 0.9]))
    # The range of `global` is 0.2 wide; its prior's mean is the middle, 0.9.
    assert found.values[2] == pytest.approx(0.9, abs=1e-6)
    assert found.deviation[2] == pytest.approx(0.2 * PRIOR_DEVIATION)
    assert found.interval(2) == pytest.approx((0.8, 1.0))


def test_given_parameters_stay_as_they_are() -> None:
    inverse = GaitInverse(Waves(), SPACE, even_noise(0.01))
    found = inverse.estimate(_poses([0.3, 0.8, 0.5]), {"stride": 1.2, "global": 0.85})
    assert found.values[[0, 2]].tolist() == [1.2, 0.85]
    assert found.deviation[[0, 2]].tolist() == [0.0, 0.0]
    assert found.given.tolist() == [True, False, True]
    assert found.misfit > 3.0  # the wave is not that of stride 1.2


def test_deviations_are_as_large_as_the_errors() -> None:
    noise = 0.05
    # The mean of two cycles has the noise of one over the square root of 2.
    inverse = GaitInverse(Waves(), SPACE, even_noise(noise / np.sqrt(2.0)), starts=1)
    errors = []
    for seed in range(20):
        found = inverse.estimate(_poses([0.4, 0.5, 0.5], noise, seed))
        errors.append((found.values[:2] - [0.9, 1.0]) / found.deviation[:2])
        assert found.misfit == pytest.approx(1.0, abs=0.05)
    assert 0.6 < np.square(errors).mean() < 1.6


def test_motions_that_the_network_does_not_know_widen_the_doubt() -> None:
    inverse = GaitInverse(Waves(), SPACE, even_noise(0.01))
    poses = _poses([0.3, 0.8, 0.5])
    known = inverse.estimate(poses)
    odd = poses + np.tile(0.2 * np.random.default_rng(7).normal(size=(30, 101)), (2, 1))
    found = inverse.estimate(odd)
    assert found.misfit == pytest.approx(20.0, rel=0.05)
    ratio = found.deviation[:2] / known.deviation[:2]
    np.testing.assert_allclose(ratio, 20.0, rtol=0.1)
    gap = np.abs(found.values - known.values)[:2]
    assert (gap < 3.0 * found.deviation[:2]).all()


def test_trust_widens_deviations_and_leaves_out_what_motions_do_not_tell() -> None:
    poses = _poses([0.3, 0.5, 0.5])
    plain = GaitInverse(Waves(), SPACE, even_noise(0.01)).estimate(poses)
    trust = np.array([3.0, 0.0, 1.0])
    found = GaitInverse(Waves(), SPACE, even_noise(0.01), trust=trust).estimate(poses)
    assert found.identified.tolist() == [True, False, False]
    assert found.values[1] == pytest.approx(1.0)  # the middle of its range
    assert found.deviation[1] == pytest.approx(2.0 * PRIOR_DEVIATION)
    ratio = found.deviation[0] / plain.deviation[0]
    assert ratio == pytest.approx(3.0, rel=0.3)  # less the other's share


def test_the_rate_of_the_frames_tells_the_cadence() -> None:
    class Still(nn.Module):
        """Says nothing of its parameters."""

        def forward(self, params: Tensor, phase: Tensor) -> Tensor:
            return 0.0 * (params.sum(dim=1) + phase)[:, None].repeat(1, 101)

    space = gait_space("human23")
    inverse = GaitInverse(Still(), space)
    poses = np.zeros((30, 101))
    lengths = {p.name: 1.0 for p in space.parameters if p.group == "skeleton"}
    # Healthy are 30 frames in 1.1 s; a tenth faster, the cadence is 1.1.
    found = inverse.estimate(poses, lengths, fps=1.1 * 30.0 / 1.1)
    at = space.index("cadence")
    assert found.values[at] == pytest.approx(1.1, abs=0.003)
    assert found.deviation[at] == pytest.approx(0.01 * 1.1, rel=0.05)
    assert not inverse.estimate(poses, lengths).identified[at]


def test_a_second_answer_is_told() -> None:
    class Even(nn.Module):
        """Says the same for a parameter and its opposite about the middle."""

        def forward(self, params: Tensor, phase: Tensor) -> Tensor:
            level = (params[:, :1] - 0.5) ** 2
            return level.repeat(1, 101) + 0.0 * phase[:, None]

    inverse = GaitInverse(Even(), SPACE, even_noise(0.01), starts=6)
    poses = np.full((30, 101), 0.3**2)
    found = inverse.estimate(poses)
    answers = np.array([found.values[0], *(rival[0] for rival in found.rivals)])
    assert np.any(np.abs(answers - 0.7) < 0.01)
    assert np.any(np.abs(answers - 1.3) < 0.01)


def test_motions_of_another_shape_are_refused() -> None:
    inverse = GaitInverse(Waves(), SPACE)
    with pytest.raises(GaitDataError, match=r"whole cycles.*\(45, 101\)"):
        inverse.estimate(np.zeros((45, 101)))
    with pytest.raises(GaitDataError, match="finite"):
        inverse.estimate(np.full((30, 101), np.nan))
    with pytest.raises(GaitParameterError, match="strid"):
        inverse.estimate(np.zeros((30, 101)), {"strid": 1.0})


def test_mean_cycle() -> None:
    poses = np.concatenate([np.zeros((30, 101)), np.full((30, 101), 2.0)])
    np.testing.assert_array_equal(mean_cycle(poses), np.ones((30, 101)))


def test_whitening_undoes_the_covariance() -> None:
    rng = np.random.default_rng(3)
    size = CYCLE_FRAMES * 101
    modes = np.linalg.qr(rng.normal(size=(size, 2)))[0].T
    noise = PoseNoise(np.full(101, 0.5), modes, np.array([9.0, 4.0]), 0.25)
    vectors = np.concatenate([modes, rng.normal(size=(1, size))])
    vectors[2] -= modes.T @ (modes @ vectors[2])
    vectors[2] /= np.linalg.norm(vectors[2])
    white = noise.whitened(0.5 * vectors.reshape(3, CYCLE_FRAMES, 101))
    # Along the directions the deviations are 3, 2 and 0.5.
    lengths = np.linalg.norm(white, axis=1)
    np.testing.assert_allclose(lengths, [1 / 3.0, 1 / 2.0, 1 / 0.5])


def test_fitted_noise_finds_the_direction_in_which_differences_go_together() -> None:
    rng = np.random.default_rng(4)
    together = rng.normal(size=(80, 1, 1)) * np.ones((1, CYCLE_FRAMES, 101))
    alone = rng.normal(size=(80, CYCLE_FRAMES, 101))
    noise = fit_noise(0.1 * (together + alone))
    total = 1.0 + np.square(together).mean()  # of both, in squares of 0.1
    np.testing.assert_allclose(noise.deviation, 0.1 * np.sqrt(total), rtol=0.05)
    assert len(noise.modes) == 1  # chance alone would make more
    first = noise.modes[np.argmax(noise.variances)]
    assert abs(first.sum()) / np.sqrt(len(first)) == pytest.approx(1.0, abs=0.02)
    assert noise.floor == pytest.approx(1.0 / total, rel=0.05)
    assert noise.variances[0] == pytest.approx(3030.0 * (1.0 - 1.0 / total), rel=0.05)


def test_noise_of_nothing_is_refused() -> None:
    with pytest.raises(GaitDataError, match="one gait"):
        fit_noise(np.zeros((1, 30, 101)))
    with pytest.raises(GaitDataError, match="expected shape"):
        fit_noise(np.zeros((4, 101)))
    with pytest.raises(GaitDataError, match="above 0"):
        plain_noise(0.0)
    with pytest.raises(GaitDataError, match=r"deviation: expected shape \(101,\)"):
        replace(plain_noise(), deviation=np.ones(3))
