"""Foot contacts and skate, on paths made by hand and on real clips."""

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion.contacts import foot_contacts, foot_skate
from ambulo.motion.formats.files import read_motion
from ambulo.motion.motion import Motion
from ambulo.motion.operations import mirror, resample
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

FPS = 100.0
STILTS = Skeleton(
    "stilts",
    ("Hips", "LeftFoot", "RightFoot"),
    (-1, 0, 0),
    [[0, 0, 1.0], [0, 0.1, -1.0], [0, -0.1, -1.0]],
)


def feet(left: np.ndarray, right: np.ndarray, ground: float = 0.0) -> Motion:
    """Ankles alone, moved to the places `left` and `right` (T, 3)."""
    frames = len(left)
    rotations = np.zeros((frames, 3, 4))
    rotations[..., 0] = 1.0
    offsets = np.zeros((frames, 3, 3))
    offsets[:, 1], offsets[:, 2] = left, right
    return Motion(STILTS, FPS, np.tile([0, 0, ground], (frames, 1)), rotations, offsets)


def steps(frames: int = 400, first: float = 0.0, rise: float = 0.0) -> np.ndarray:
    """A foot that stands for half a second and swings 0.5 m ahead in the other half."""
    time = np.arange(frames) / FPS + first
    part = time % 1.0
    swing = np.clip((part - 0.5) / 0.5, 0.0, 1.0)
    ahead = np.floor(time) + 0.5 * (1.0 - np.cos(np.pi * swing))
    height = 0.15 * np.sin(np.pi * swing) ** 2 + rise * ahead
    return np.stack([ahead, np.zeros(frames), height], axis=-1)


@pytest.mark.parametrize("ground", [0.0, -0.4, 2.0])
@pytest.mark.parametrize("rise", [0.0, 0.02, 0.15])
def test_feet_stand_while_they_do_not_move_on_any_level_slope_or_stair(ground, rise):
    contacts = foot_contacts(
        feet(steps(rise=rise), steps(first=0.5, rise=rise), ground)
    )
    stance = (np.arange(400) / FPS) % 1.0 < 0.5
    for foot, expected in ((0, stance), (1, ~stance)):
        wrong = contacts[:, foot] != expected
        assert wrong.mean() < 0.12  # only where the foot comes and goes
        middle = np.arange(25, 400, 100) + 50 * foot
        assert contacts[middle[middle < 400], foot].all()
        assert not contacts[(middle + 50)[middle + 50 < 400], foot].any()


def test_in_the_air_nothing_stands():
    height = np.maximum(0.0, 0.3 - 30.0 * (np.arange(200) / FPS - 1.0) ** 2)
    jump = np.stack([0 * height, 0 * height, height], axis=-1)
    contacts = foot_contacts(feet(jump, jump))
    assert contacts[:85].all()
    assert contacts[115:].all()
    assert not contacts[93:108].any()


def test_a_lifted_foot_does_not_stand():
    standing = np.zeros((300, 3))
    lifted = standing + np.array([0.0, 0.0, 0.4])
    assert foot_contacts(feet(standing, lifted)).all(axis=0).tolist() == [True, False]


def test_a_foot_carried_slowly_does_not_stand():
    """It stays at one height for half a second: only a longer look finds its ground."""
    standing = np.zeros((400, 3))
    carried = np.zeros((400, 3))
    up = np.clip(np.minimum(np.arange(400) - 170, 230 - np.arange(400)) / 5, 0, 1)
    carried[:, 2] = 0.1 * up
    carried[:, 0] = 0.4 * np.clip(np.arange(400) - 170, 0, 60) / FPS
    contacts = foot_contacts(feet(standing, carried))
    assert contacts[:, 0].all()
    assert not contacts[176:225, 1].any()
    assert contacts[:165, 1].all()
    assert contacts[240:, 1].all()


def test_noise_at_the_threshold_does_not_break_a_contact():
    rng = np.random.default_rng(0)
    still = np.zeros((400, 3))
    lifted = still.copy()
    lifted[200:, 2] = 0.028 + 0.006 * np.sin(np.arange(200) / 15.0)
    lifted[150:200, 2] = np.linspace(0.0, 0.028, 50)
    lifted[:, 2] += 0.0005 * rng.normal(size=400)
    contacts = foot_contacts(feet(lifted, still))
    assert np.abs(np.diff(contacts[:, 0].astype(int))).sum() <= 1


def test_skate_is_the_speed_of_standing_feet():
    sliding = np.zeros((200, 3))
    sliding[:, 0] = 0.2 * np.arange(200) / FPS
    still = np.zeros((200, 3))
    assert foot_skate(feet(still, still)) == 0.0
    assert foot_skate(feet(sliding, still)) == pytest.approx(0.1)
    chosen = np.zeros((200, 2), dtype=bool)
    chosen[:, 0] = True
    assert foot_skate(feet(sliding, still), chosen) == pytest.approx(0.2)
    assert foot_skate(feet(sliding, still), np.zeros((200, 2), dtype=bool)) == 0.0


def test_one_frame_stands():
    motion = feet(np.zeros((1, 3)), np.zeros((1, 3)))
    assert foot_contacts(motion).tolist() == [[True, True]]
    assert foot_skate(motion) == 0.0


def test_toes_alone_make_a_contact():
    skeleton = load_skeleton("human23")
    rotations = np.zeros((200, 23, 4))
    rotations[..., 0] = 1.0
    motion = Motion(skeleton, FPS, np.tile(skeleton.offsets[0], (200, 1)), rotations)
    assert foot_contacts(motion).all()
    # On tiptoe: the foot turns about its toes' joint, heel and ankle go up.
    ankle = skeleton.index("TalusR")
    lift = np.clip((np.arange(200) - 100) / 50, 0, 1) * 0.5
    turned = rotations.copy()
    turned[:, ankle, 0], turned[:, ankle, 2] = np.cos(lift / 2), np.sin(lift / 2)
    offsets = skeleton.offsets[skeleton.index("FootThumbR")]
    down = offsets[0] * np.sin(lift) - offsets[2] * (1 - np.cos(lift))
    root = motion.root_positions + np.outer(down, [0.0, 0.0, 1.0])
    contacts = foot_contacts(motion.replace(rotations=turned, root_positions=root))
    assert contacts[:, 1].all()


def test_wrong_use_is_named():
    motion = feet(np.zeros((5, 3)), np.zeros((5, 3)))
    with pytest.raises(MotionError, match="above 0"):
        foot_contacts(motion, height=0.0)
    with pytest.raises(MotionError, match=r"\(5, 2\)"):
        foot_skate(motion, np.zeros((4, 2), dtype=bool))
    box = Skeleton("box", ("lid",), (-1,), [[0, 0, 0]])
    with pytest.raises(MotionError, match="box: no joints play the feet"):
        foot_contacts(Motion(box, 30.0, np.zeros((1, 3)), np.array([[[1.0, 0, 0, 0]]])))


@pytest.mark.parametrize("trial", ["07/07_01", "02/02_01"])
def test_real_walks_have_stance_swing_and_double_support(cmu, trial):
    motion = read_motion(cmu / "asfamc" / f"{trial}.amc")
    contacts = foot_contacts(motion)
    assert (contacts.mean(axis=0) > 0.45).all()
    assert (contacts.mean(axis=0) < 0.75).all()
    assert contacts.any(axis=1).mean() > 0.97  # a walk has no flight
    assert 0.05 < contacts.all(axis=1).mean() < 0.35
    assert foot_skate(motion, contacts) < 0.2
    slow = foot_contacts(resample(motion, 25.0))
    np.testing.assert_allclose(slow.mean(axis=0), contacts.mean(axis=0), atol=0.06)
    swapped = foot_contacts(mirror(motion))[:, ::-1]
    assert (swapped == contacts).mean() > 0.999


def test_a_real_run_has_flight_and_no_double_support(cmu):
    contacts = foot_contacts(read_motion(cmu / "asfamc" / "02" / "02_03.amc"))
    assert (~contacts.any(axis=1)).mean() > 0.2
    assert contacts.all(axis=1).mean() < 0.05
