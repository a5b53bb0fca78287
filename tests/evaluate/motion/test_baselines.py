from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.evaluate.motion.baselines import (
    Forecast,
    constant_velocity,
    constant_velocity_xyz,
    damped_velocity,
    fit_baselines,
    fit_damping,
    fit_ridges,
    forecast_of,
    zero_velocity,
)
from ambulo.evaluate.motion.scores import (
    FIRST_FRAME,
    growth_of,
    rotation_slots,
    score_method,
    states_inside,
)
from ambulo.evaluate.motion.windows import (
    EvalClip,
    EvalData,
    Heading,
    WindowPlan,
    causal_states,
    cut_windows,
    differences,
    poses_of,
    standing_heights,
)
from ambulo.motion import human23

FPS = 25.0


def swinging(frames, seed=0, *, frequency=1.0, speed=1.2):
    """Poses (T, 56) of a body whose joints swing like sines while it walks ahead."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.05, 0.4, 56)
    shift = rng.uniform(0.0, 2.0 * np.pi) + rng.integers(0, 2, 56) * np.pi
    t = np.arange(frames) / FPS
    poses = size * np.sin(2.0 * np.pi * frequency * t[:, None] + shift)
    poses[:, :3] *= 0.2
    poses[:, 3:6] = np.stack(
        [speed * t, 0.02 * poses[:, 4], 0.95 + 0.05 * poses[:, 5]], 1
    )
    return poses


def turning(frames, rate=0.3):
    """Poses (T, 56) of a body whose every joint turns and whose root moves evenly."""
    rng = np.random.default_rng(1)
    poses = [rng.normal(scale=0.5, size=56)]
    velocity = rng.normal(scale=rate, size=56)
    for _ in range(frames - 1):
        poses.append(human23.integrate(poses[-1], velocity, 1.0))
    return np.array(poses)


def placed(poses, yaw=1.9, place=(3.0, -7.0)):
    """The same movement elsewhere, in another direction."""
    heading = Heading(np.array([yaw]), np.array([place]))
    return heading.outside(poses[None])[0]


def plan_of(*horizons, stride=5):
    return WindowPlan(9, FPS, horizons, stride)


def windows_of(*clips, steps=25, stride=5, **options):
    named = [EvalClip(f"{k:02d}_01", "walk", clip) for k, clip in enumerate(clips)]
    return cut_windows(named, plan_of(stride=stride), steps, **options)


def fitted(clips, steps=25):
    named = [EvalClip(f"{k}", "walk", clip) for k, clip in enumerate(clips)]
    return fit_baselines(EvalData([], named[:-1], named[-1:]), plan_of(stride=3), steps)


def truth(windows):
    """A predictor that is always right."""

    def predict(past, steps, fps):
        return forecast_of(past, windows.future.positions[:, :steps], fps)

    return predict


def test_windows_are_cut_in_order_and_the_known_frames_come_first():
    clip = swinging(52)
    windows = windows_of(clip, swinging(40, 1), swinging(20), stride=10)
    assert windows.past.positions.shape == (3, 10, 56)  # one more than there are states
    assert windows.future.positions.shape == (3, 25, 56)
    assert windows.starts.tolist() == [0, 10, 0]
    assert windows.clips.tolist() == [0, 0, 1]
    assert windows.names == ("00_01", "01_01")  # the third is too short
    assert np.array_equal(windows.past.positions[1], clip[10:20])
    assert np.array_equal(windows.future.positions[1], clip[20:45])
    assert windows.ground.shape == (3, 26, 2)


def test_a_limit_draws_windows_with_the_seed():
    clip = swinging(300)
    starts = [
        windows_of(clip, stride=1, limit=7, seed=s).starts.tolist() for s in (3, 3, 4)
    ]
    assert len(set(starts[0])) == 7
    assert starts[0] == sorted(starts[0]) == starts[1] != starts[2]


def test_too_short_clips_are_an_error_that_says_what_is_needed():
    with pytest.raises(
        MotionError, match=r"the 35 frames of a window .*; the longest of 1 has 30"
    ):
        windows_of(swinging(30))


def test_states_do_not_know_the_frame_after_them():
    poses = swinging(20)[None]
    assert np.array_equal(
        causal_states(poses[:, :12], FPS), causal_states(poses, FPS)[:, :12]
    )
    stepped = human23.integrate(
        poses[:, 4], causal_states(poses, FPS)[:, 5, 56:], 1 / FPS
    )
    assert poses_of(stepped).rotations == pytest.approx(poses_of(poses[:, 5]).rotations)


def test_the_ground_frame_is_undone():
    poses = placed(swinging(6))[None]
    heading = Heading.of(poses[:, -1])
    inside = heading.inside(poses)
    assert inside[0, -1, 3:5] == pytest.approx([0.0, 0.0], abs=1e-12)
    back = poses_of(heading.outside(inside))
    there = poses_of(poses)
    assert back.world == pytest.approx(there.world)
    points = heading.points_inside(there.world)
    assert points == pytest.approx(poses_of(inside).world)
    assert heading.points_outside(points) == pytest.approx(there.world)


def test_standing_heights_follow_a_tilted_floor():
    rise = np.linspace(0.0, 0.06, 100)
    step = 0.2 * np.maximum(0.0, np.sin(np.arange(100) / 3.0))
    level = standing_heights((rise + step)[:, None], FPS)[:, 0]
    assert np.abs(level - rise).max() < 0.012


def test_zero_velocity_stands_still():
    windows = windows_of(swinging(60))
    found = zero_velocity(windows.past, 25, FPS)
    assert found.poses is not None
    assert np.array_equal(found.poses.positions[:, 7], windows.past.positions[:, -1])
    assert found.velocities == pytest.approx(0.0, abs=1e-9)


def test_constant_velocity_is_exact_for_even_turning():
    windows = windows_of(turning(60))
    found = constant_velocity(windows.past, 25, FPS)
    assert found.world == pytest.approx(windows.future.world, abs=1e-9)
    assert found.local == pytest.approx(windows.future.local, abs=1e-9)
    positions, velocities, true, true_velocities = states_inside(found, windows)
    assert positions == pytest.approx(true, abs=1e-8)  # rotation vectors pass pi here
    assert velocities == pytest.approx(true_velocities, abs=1e-6)


def test_constant_velocity_xyz_is_exact_for_points_that_go_straight():
    poses = np.zeros((60, 56))
    poses[:, 3] = 0.02 * np.arange(60)
    windows = windows_of(poses)
    found = constant_velocity_xyz(windows.past, 25, FPS)
    assert found.world == pytest.approx(windows.future.world)
    assert found.poses is None
    # A point on a circle is extended along the tangent: twice the step after two frames.
    windows = windows_of(turning(60))
    found = constant_velocity_xyz(windows.past, 2, FPS)
    past = windows.past.local
    assert found.local[:, 1] == pytest.approx(3.0 * past[:, -1] - 2.0 * past[:, -2])


def test_damping_makes_a_geometric_sum():
    windows = windows_of(turning(60))
    step = differences(windows.past.positions[:, -2], windows.past.positions[:, -1])
    found = damped_velocity(windows.past, 3, FPS, 0.5)
    assert found.poses is not None
    gone = differences(windows.past.positions[:, -1], found.poses.positions[:, 2])
    assert gone == pytest.approx(0.875 * step)  # 1/2 + 1/4 + 1/8


def test_fitted_damping_is_one_for_even_motion_and_small_for_shaking():
    assert fit_damping(windows_of(turning(80, rate=0.01))) > 0.95
    rng = np.random.default_rng(0)
    shaking = swinging(200) + rng.normal(scale=0.1, size=(200, 56))
    assert fit_damping(windows_of(shaking)) < 0.4


def test_ridges_recover_a_linear_map_and_choose_strength_by_validation():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, 2))
    scale = np.array([1.0, 100.0, 0.01, 1.0])

    def linear(_):
        x = rng.normal(size=(50, 4)) * scale
        return x, x @ weights + 3.0

    def noise(_):
        return rng.normal(size=(50, 4)), rng.normal(size=(50, 2))

    windows = windows_of(swinging(60))
    exact, shrunk = fit_ridges([windows] * 4, [windows], (linear, noise))
    assert exact.strength < 1e-3
    assert exact.weights == pytest.approx(weights, abs=1e-2)
    assert exact(np.zeros((1, 4))) == pytest.approx(np.full((1, 2), 3.0), abs=1e-3)
    assert shrunk.strength >= 0.1


def test_without_validation_windows_there_is_no_choice():
    windows = windows_of(swinging(60))
    with pytest.raises(MotionError, match="no clip is long enough"):
        fit_ridges([windows], [], (lambda _: (np.eye(3), np.eye(3)),))


@pytest.mark.integration
def test_fitted_baselines_learn_what_repeats():
    clips = [placed(swinging(150, k, frequency=1.0), 0.7 * k) for k in range(6)]
    baselines = fitted(clips)
    assert list(baselines.predictors) == [
        "zero_velocity", "constant_velocity", "constant_velocity_xyz", "damped_velocity",
        "ridge", "ridge_xyz",
    ]  # fmt: skip
    windows = windows_of(placed(swinging(150, 3), 2.0))
    errors = {
        name: score_method(predictor, windows, plan_of(400))[0].curve("mpjpe_mm")["400"]
        for name, predictor in baselines.predictors.items()
    }
    rest = min(errors[name] for name in errors if not name.startswith("ridge"))
    assert max(errors["ridge"], errors["ridge_xyz"]) < 0.5 * rest
    with pytest.raises(ValueError, match="fitted for 25"):
        baselines.predictors["ridge"](windows.past, 26, FPS)
    short = baselines.predictors["ridge_xyz"](windows.past, 3, FPS)
    assert short.world.shape[:2] == (len(windows), 3)


def test_every_baseline_turns_and_moves_with_the_world():
    baselines = fitted([swinging(90, k) for k in range(3)], 12)
    clip = swinging(80, 9)
    here, there = windows_of(clip, steps=12), windows_of(placed(clip), steps=12)
    for name, predictor in baselines.predictors.items():
        first = score_method(predictor, here, plan_of(80, 400))[0]
        second = score_method(predictor, there, plan_of(80, 400))[0]
        for key in ("mpjpe_mm", "mpjpe_world_mm"):
            assert first.curve(key) == pytest.approx(second.curve(key)), name
        for key in (*FIRST_FRAME, "foot_skate_cm_s"):
            one, other = first.metrics[key].value, second.metrics[key].value
            assert one == pytest.approx(other)


def test_the_truth_scores_zero():
    windows = windows_of(placed(swinging(90)), swinging(70, 2))
    scores, errors = score_method(truth(windows), windows, plan_of(40, 80, 1000))
    assert errors == pytest.approx(np.zeros((len(windows), 3)), abs=1e-9)
    assert list(scores.by_horizon) == ["40", "80", "1000"]
    assert list(scores.curve("euler_rad").values()) == pytest.approx(
        [0.0] * 3, abs=1e-6
    )
    step = {name: one.value for name, one in scores.metrics.items()}
    for name in ("npss", "position_mse", "velocity_mse"):
        assert step[name] == pytest.approx(0.0, abs=1e-9)
    for name in ("r2", "r2_mean", "r2_positions"):
        assert step[name] == pytest.approx(1.0)


def test_scores_of_one_wrong_joint():
    windows = windows_of(swinging(80))
    knee = human23.position_slices()["TibiaL"]

    def predict(past, steps, fps):
        wrong = windows.future.positions[:, :steps].copy()
        wrong[..., knee] += 0.1
        return forecast_of(past, wrong, fps)

    scores, _ = score_method(predict, windows, plan_of(400))
    step, found = scores.metrics, scores.by_horizon["400"]
    assert step["position_mse"].value == pytest.approx(0.01 / 56)
    assert step["velocity_mse"].value == pytest.approx((0.1 * FPS) ** 2 / 56)
    assert found["euler_rad"].value == pytest.approx(0.1)
    assert found["joint_angle_deg"].value == pytest.approx(np.degrees(0.1) / 22)
    assert found["mpjpe_mm"].value == pytest.approx(found["mpjpe_world_mm"].value)
    assert 0.0 < found["mpjpe_mm"].value < 10.0


def test_position_errors_do_not_jump_at_half_a_turn():
    clip = swinging(60)
    arm = human23.position_slices()["ArmL"]
    clip[:, arm] = [0.0, 0.0, np.pi - 0.01]
    windows = windows_of(clip)

    def predict(past, steps, fps):
        near = windows.future.positions[:, :steps].copy()
        near[..., arm] = [0.0, 0.0, -np.pi + 0.01]
        return forecast_of(past, near, fps)

    positions, _, true, _ = states_inside(predict(windows.past, 25, FPS), windows)
    assert np.abs((positions - true)[..., arm]).max() == pytest.approx(0.02)
    assert arm.start in rotation_slots()
    assert len(rotation_slots()) == 15


def test_activities_add_up_to_the_whole():
    named = [
        EvalClip("01_01", "walk", swinging(80)),
        EvalClip("01_02", "run", swinging(60, 4)),
        EvalClip("01_03", "walk", swinging(45, 5)),
    ]
    windows = cut_windows(named, plan_of(), 25)
    scores, _ = score_method(zero_velocity, windows, plan_of(80, 1000))
    rows = scores.per_activity
    assert {name: row["clips"] for name, row in rows.items()} == {"run": 1, "walk": 2}
    assert sum(row["windows"] for row in rows.values()) == len(windows)
    total = sum(row["windows"] * row["mpjpe_mm"]["1000"] for row in rows.values())
    whole = scores.by_horizon["1000"]["mpjpe_mm"]
    assert total / len(windows) == pytest.approx(whole.value)
    assert whole.low <= whole.value <= whole.high


def test_growth_of_an_error_in_proportion_to_time():
    windows = windows_of(np.tile(swinging(1), (80, 1)), steps=60)

    def drifting(past, steps, fps):
        away = 0.001 * np.arange(1, steps + 1)[:, None, None]
        return Forecast(windows.future.world + away, windows.future.local)

    growth = growth_of(drifting, windows)["mpjpe_world_mm"]
    assert growth.steps == [1, 5, 10, 30, 60]
    assert growth.ratio == pytest.approx(60.0)
    assert growth.slope == pytest.approx(1.0)
    assert growth.values == pytest.approx([3**0.5 * k for k in growth.steps])
    assert len(growth.curve) == 60
    assert "position_mse" not in growth_of(drifting, windows)
    assert "position_mse" in growth_of(zero_velocity, windows)
