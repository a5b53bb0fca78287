"""Balance of a captured clip on another body: the root is shifted over the feet.

Retargeted to other proportions and masses, a person who stands on one leg leans by
centimetres over its edge, and no force of the ground holds the body. The centre of pressure
that a movement needs is brought back over the soles by a shift of the root along the ground
that is as small and smooth as can be, after the dynamics filter of K. Yamane and Y. Nakamura,
Dynamics filter (IEEE Trans. Robotics and Automation 19, 2003), with the cart-table model of
S. Kajita et al., Biped walking pattern generation by using preview control of zero-moment
point (ICRA 2003).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.characters.ankles import ankle_reach
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.whole_body_control import largest_torque
from ambulo.envs.reference.inverse_dynamics import root_wrench
from ambulo.envs.reference.joint_positions import motion_states
from ambulo.motion.gaits.planting import with_shifted_feet
from ambulo.motion.gaits.soles import GRAVITY, sole_places
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import retarget_body
from ambulo.motion.roles import SIDES
from ambulo.motion.rotations import quat_conjugate, quat_rotate

NEAR = 0.05
"""Height of a sole point up to which it can bear, [m]."""
LEAST = 0.3
"""Force upwards over body weight from which there is a centre of pressure."""
AVERAGE = 0.1
"""Time over which forces are averaged, [s]."""
MARGIN, NARROW = 0.02, 0.3
"""How far within the soles the centre of pressure shall be, [m], and over their width."""
PAD = 0.6
"""Time by which a clip is held at both ends, [s]: else the shift would run away there, where
nothing follows."""
LARGEST = 0.15
"""Most by which the centre of pressure is corrected, [m]."""
ROUNDS = 2
"""Times that the body is shifted: legs, which follow, change the forces."""
PROJECTIONS = 40
"""Steps of the search for the smallest shift."""
STAY, BEND = 0.2, 0.07
"""Weights, beside 1 of the centre of pressure: of the shift, and of its jerk times `BEND`^3
[s^3]."""
AHEAD = np.array([1.0, 0.0, 0.0])
"""Where feet look at rest."""
_DIRECTIONS = np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False)
_NORMALS = np.stack([np.cos(_DIRECTIONS), np.sin(_DIRECTIONS)])


def balanced(motion: Motion, character: Character) -> tuple[Motion, Floats]:
    """`motion` with its centre of pressure over the soles, and the shift of its root.

    With z the median height of the root, a its acceleration and j its jerk, the shift d (T, 2)
    and the corrections e of the centre of pressure minimise (d - z/g a - e)^2 + STAY^2 d^2 +
    (BEND^3 j)^2 in the mean. Each e brings the centre of pressure `MARGIN` within the soles
    near the ground (`bearing_places`), as far as `LARGEST` goes. In flights, where nothing
    pushes, (z/g a)^2 stands for the first term. Feet stay where they are.

    Args:
        motion: On the character's skeleton, feet on the ground at height 0.
        character: The body.
    """
    start = motion.root_positions[:, :2].copy()
    model = character.model
    for _ in range(ROUNDS):
        wrench = root_wrench(model, motion_states(motion, model))
        size = max(1, round(AVERAGE * motion.fps))
        center, has_center = center_of_pressure(wrench, size)
        reach = sole_reach(bearing_places(motion, character), 1)
        asked = has_center & np.isfinite(reach).all(axis=1)
        height = float(np.median(motion.root_positions[:, 2]))
        shift = _shift(center, _within(reach), asked, ~has_center, height, motion.fps)
        root = motion.root_positions.copy()
        root[:, :2] += shift
        back = np.zeros((len(motion), 2, 3))
        back[:, :, :2] = -shift[:, None]
        motion = with_shifted_feet(motion.replace(root_positions=root), back)
    return motion, motion.root_positions[:, :2] - start


def bearing_places(motion: Motion, character: Character) -> Floats:
    """Lowest places of the sole points, as near to the ankles as their motors need.

    In the world, [m]. Shape (T, P, 3).
    """
    places, soles = sole_places(motion, character.soles), character.soles
    body, model = retarget_body(motion.skeleton), character.model
    bound, names = largest_torque(model), motion.skeleton.joints
    torques = {
        model.joint(joint).name: float(bound[model.jnt_dofadr[joint]])
        for joint in range(1, model.njnt)
    }
    feet = [f"{side}_foot" for side in SIDES]
    if not all(foot in body.roles for foot in feet):
        return places
    chains = [body.chains.get(foot, [body.roles[foot]]) for foot in feet]
    ankles = [[names[joint] for joint in chain] for chain in chains]
    reach = ankle_reach(model, ankles, torques)
    at, turns = forward_kinematics(
        motion.skeleton, motion.root_positions, motion.rotations
    )
    for side, foot in enumerate(feet):
        joint = body.roles[foot]
        own = np.isin(soles.joints, motion.skeleton.branch(joint))
        ahead = quat_rotate(quat_conjugate(body.orientations[joint]), AHEAD)
        forward = quat_rotate(turns[:, joint], ahead)[:, None, :2]
        length = np.linalg.norm(forward, axis=-1, keepdims=True)
        forward = forward / np.maximum(length, 1e-9)  # 0 of a foot that looks down
        axes = np.stack([forward, forward[..., ::-1] * [-1.0, 1.0]])
        ankle = at[:, joint, None, :2]
        apart = ((places[:, own, :2] - ankle) * axes).sum(axis=-1)
        far = reach[side, :, None, None]
        over = apart - np.clip(apart, -far, far)
        places[:, own, :2] -= (over[..., None] * axes).sum(axis=0)
    return places


def center_of_pressure(wrench: Floats, size: int) -> tuple[Floats, Bools]:
    """Where the ground would have to push, (T, 2), [m], and whether it pushes enough, (T,).

    The zero-moment point (M. Vukobratovic and B. Borovac, Zero-moment point: thirty five
    years of its life, Int. J. Humanoid Robotics 1, 2004) of the mean force of `size` samples.

    Args:
        wrench: Force, and moment about the world's origin, over body weight, [-] and [m].
            Shape (T, 6).
        size: Samples that are averaged.
    """
    mean = uniform_filter1d(wrench, size, axis=0, mode="nearest")
    up = np.maximum(mean[:, 2], LEAST)
    center = np.stack([-mean[:, 4], mean[:, 3]], axis=1) / up[:, None]
    return center, mean[:, 2] > LEAST


def sole_reach(soles: Floats, size: int) -> Floats:
    """How far soles near the ground reach in each of D directions, [m]. Shape (T, D).

    Args:
        soles: Lowest places of the sole points in the world, [m]. Shape (T, P, 3).
        size: Samples whose soles count together.

    Returns:
        Minus infinity where no sole is near the ground.
    """
    bears = soles[..., 2] < NEAR
    reach = np.where(bears[..., None], soles[..., :2] @ _NORMALS, -np.inf)
    return maximum_filter1d(reach.max(axis=1), size, axis=0, mode="nearest")


def beside(center: Floats, reach: Floats) -> Floats:
    """Distance of places (T, 2) from what soles cover (T, D), negative within, [m]. (T,)."""
    return np.asarray((center @ _NORMALS - reach).max(axis=1))


def _within(reach: Floats) -> Floats:
    """What soles cover less the margin."""
    known = np.where(np.isfinite(reach), reach, 0.0)
    width = known + np.roll(known, known.shape[1] // 2, axis=1)
    return reach - np.minimum(MARGIN, NARROW * width)


def _shift(
    center: Floats, reach: Floats, asked: Bools, flies: Bools, height: float, fps: float
) -> Floats:
    """The smallest smooth shift that brings `center` within `reach` where asked. (T, 2)."""
    pad = round(PAD * fps)
    times = np.clip(np.arange(-pad, len(center) + pad), 0, len(center) - 1)
    center, reach, asked, flies = (
        center[times],
        reach[times],
        asked[times],
        flies[times],
    )
    count, weight = len(center), asked[1:-1].astype(float)
    cart = -(height / GRAVITY) * fps**2 * np.array([1.0, -2.0, 1.0])
    press = cart + np.array([0.0, 1.0, 0.0])
    jerk = BEND**3 * fps**3 * np.array([-1.0, 3.0, -3.0, 1.0])
    bands = np.zeros((4, count))  # upper form: bands[3] is the diagonal
    bands[3] += STAY**2
    for i in range(3):
        for j in range(i, 3):
            rows = weight * press[i] * press[j] + flies[1:-1] * cart[i] * cart[j]
            bands[3 - (j - i), j : count - 2 + j] += rows
    for i in range(4):
        for j in range(i, 4):
            bands[3 - (j - i), j : count - 3 + j] += jerk[i] * jerk[j]
    factor = cholesky_banded(bands)
    shift, moved = np.zeros((count, 2)), np.zeros((count, 2))
    for _ in range(PROJECTIONS):
        goal = np.zeros((count, 2))
        now = (center + moved)[asked]
        goal[asked] = _projected(now, reach[asked]) - center[asked]
        length = np.linalg.norm(goal, axis=1, keepdims=True)
        goal *= np.minimum(1.0, LARGEST / np.maximum(length, 1e-9))
        pull = weight[:, None] * goal[1:-1]
        right = np.zeros((count, 2))
        for i in range(3):
            right[i : count - 2 + i] += press[i] * pull
        shift = cho_solve_banded((factor, False), right)
        moved[1:-1] = sum(press[i] * shift[i : count - 2 + i] for i in range(3))
    return np.asarray(shift[pad : count - pad])


def _projected(places: Floats, reach: Floats) -> Floats:
    """Places (T, 2) moved into what is covered (T, D): out of the worst direction in turn."""
    out = places.copy()
    for _ in range(4):
        over = out @ _NORMALS - reach
        worst = over.argmax(axis=1)
        far = np.maximum(over[np.arange(len(out)), worst], 0.0)
        out -= far[:, None] * _NORMALS[:, worst].T
    return out
