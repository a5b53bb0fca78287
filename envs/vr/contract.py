"""Constants and settings of the VR world contract (docs/vr_world.md), shared by every world.

Axes: right-handed, X forward at yaw 0, Y left, Z up; metres, seconds, radians.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr_bodies import USUAL_EYES
from ambulo.configs.vr_learning import PLANNED

BODY_RADIUS = 0.25
"""Radius of the body capsule, [m]."""
BODY_HEIGHT = 1.75
"""Usual height of the body, [m]; in flat levels shapes that overlap (STEP_HEIGHT, BODY_HEIGHT)
obstruct."""
STEP_HEIGHT = 0.01
"""Shapes whose top is at or below this are floor paint, [m]."""
CLIMB_HEIGHT = 0.25
"""Highest step above the feet that a body steps onto, [m]."""
STEEPEST_FLOOR = math.cos(math.radians(45.0))
"""Smallest vertical component of the unit normal of a floor."""
MAX_SEAM = 0.05
"""Widest gap in the floor that rays and bodies pass: seams between tiles, [m]."""
CAPSULE_LOW = CLIMB_HEIGHT + BODY_RADIUS * math.sqrt(0.5)
"""Lower end of the capsule's axis above the feet, [m]. Shapes up to `CLIMB_HEIGHT` touch the
capsule from more than 45 degrees below, and are floor."""
EYE_HEIGHT = USUAL_EYES
"""Usual height of the camera above the XR origin, [m]."""
HAND_OFFSET = (0.35, 0.22, 1.1)
"""Left hand in the yaw frame of the body (forward, left, up) at the usual height of the
camera, [m]; the right is mirrored."""
GRAVITY = 9.81
"""Fall acceleration once the body axis is off the floor, [m/s^2]."""
SLIDE_ITERATIONS = 4
"""Passes of push-out from overlapping obstacles per tick."""
MAX_PUSH = 1.4 * BODY_RADIUS
"""Largest push per tick, [m]; a body that needs a longer one moves back: beyond a wall it would
be at least twice the radius away."""
TELEPORT_PART = 0.05
"""Interval of the checks for obstacles and floor along a teleport, [m]."""
TELEPORT_EXACT = 1e-3
"""Largest distance between the end of a teleport and the obstacle that stops it, [m]."""


@dataclass(frozen=True)
class WorldSpec:
    """Settings of a world; plain numbers only."""

    ticks_per_decision: int = 9
    """Physics ticks per action."""
    dt: float = 1.0 / 90.0
    """Length of a tick, [s]."""
    max_speed: float = 2.0
    """Speed at full stick, [m/s]."""
    max_yaw_rate: float = math.radians(90.0)
    """Turning rate at full stick, [rad/s]."""
    smoothing: float = 0.3
    """Fraction of the old command left after one step."""
    dead_zone: float = 0.05
    """Stick values below this are zero."""
    num_rays: int = 16
    """Rays over the full circle."""
    ray_length: float = 5.0
    """Range of a ray, [m]."""
    rays_see_edges: bool = True
    """Rays also end at floor edges."""
    rays_in_head_frame: bool = True
    """Ray 0 points along the head's yaw; false: along the world's X axis."""
    rearm_ticks: int = 45
    """Ticks without contact before the next touch is a new collision event."""
    fall_depth: float = 1.0
    """Depth below the floor at which a body has fallen, [m]."""
    discrete: bool = False
    """Actions are indices of the seven discrete actions."""
    turn_angle: float = math.radians(45.0)
    """Snap turn, [rad]."""
    move_distance: float = 1.0
    """Discrete move, [m]."""
    max_acceleration: float = 0.0
    """Largest acceleration by the stick, and by walking in a turn, [m/s^2]; 0: no limit."""
    max_yaw_acceleration: float = 0.0
    """Largest angular acceleration by the stick, [rad/s^2]; 0: no limit."""
    facing: float = math.pi
    """Largest angle between the stick and straight ahead, [rad]."""
    comfort_speed: float = 0.0
    """Largest speed where the comfort dial is 1, [m/s]; 0: `max_speed`."""
    snap_turn: float = 0.0
    """Angle of an instant turn by the rotation stick, [rad]; 0: smooth turning."""
    snap_delay: float = 0.3
    """Shortest time between two such turns, [s]."""
    teleport: float = 0.0
    """Distance of an instant move by the full stick, [m]; 0: walking."""
    teleport_delay: float = 0.5
    """Shortest time between two teleports, [s]."""
    vignette: float = 0.0
    """Fraction by which the field of view is narrowed in motion; affects only
    `comfort_index`."""
    eye_height: float = EYE_HEIGHT
    """Height of the camera above the XR origin, [m]; the body scales with it."""
    surroundings: bool = False
    """Also report what rays end at, the floor along them, and moving obstacles in sight."""

    @property
    def decision_dt(self) -> float:
        """Duration of an environment step, [s]."""
        return self.ticks_per_decision * self.dt

    @property
    def tick_decay(self) -> float:
        """Fraction of the old command left after one tick."""
        return self.smoothing ** (1.0 / self.ticks_per_decision)

    @property
    def body_scale(self) -> float:
        """Height of the body relative to the usual one."""
        return self.eye_height / EYE_HEIGHT

    @property
    def body_height(self) -> float:
        """Height of the body in levels with heights, [m]."""
        return BODY_HEIGHT * self.body_scale

    @property
    def hand_offset(self) -> tuple[float, float, float]:
        """Left hand in the yaw frame of the body (forward, left, up), [m]."""
        ahead, left, up = (offset * self.body_scale for offset in HAND_OFFSET)
        return ahead, left, up

    def steps_of(self, seconds: float) -> int:
        """Environment steps of this delay, at least 1."""
        return max(1, math.ceil(seconds / self.decision_dt - 1e-9))

    @classmethod
    def from_config(cls, config: NavigationConfig) -> WorldSpec:
        """The world settings that a training configuration implies.

        Raises:
            ConfigError: A tick would move the body so far that it passes through walls.
        """
        env, actions, obs = config.environment, config.actions, config.observations
        spec = cls(
            ticks_per_decision=env.ticks_per_decision,
            dt=env.physics_dt,
            max_speed=actions.max_movement_speed,
            max_yaw_rate=math.radians(actions.max_rotation_speed),
            smoothing=actions.action_smoothing,
            dead_zone=actions.dead_zone,
            num_rays=obs.num_ray_sensors,
            ray_length=obs.ray_length,
            rays_see_edges=obs.rays_see_edges,
            rays_in_head_frame=obs.frame == "head",
            surroundings=obs.memory in PLANNED,
            rearm_ticks=round(
                config.rewards.collision_rearm * env.physics_ticks_per_second
            ),
            fall_depth=env.fall_depth,
            discrete=actions.mode == "discrete",
            turn_angle=math.radians(actions.turn_angle),
            move_distance=actions.move_distance,
            max_acceleration=actions.max_acceleration or 0.0,
            max_yaw_acceleration=math.radians(actions.max_rotation_acceleration or 0.0),
            facing=math.radians(actions.facing),
            comfort_speed=actions.comfort_speed or 0.0,
            snap_turn=math.radians(actions.snap_turn or 0.0),
            snap_delay=actions.snap_delay,
            teleport=actions.teleport or 0.0,
            teleport_delay=actions.teleport_delay,
            vignette=actions.vignette,
            eye_height=env.eye_height,
        )
        if spec.discrete:
            key, travel = "move_distance", spec.move_distance / spec.ticks_per_decision
        else:
            key, travel = "max_movement_speed", spec.max_speed * spec.dt
        if travel > BODY_RADIUS:
            raise ConfigError(
                f"actions.{key} = {getattr(actions, key):g}: moves {travel:.3g} m per "
                f"physics tick, at most {BODY_RADIUS} m, or walls are passed through"
            )
        return spec
