"""The rules of motion of the VR world (docs/vr_world.md), one function each.

This world defines the behaviour of the compiled one and of Godot as plainly as possible,
without regard to speed. MuJoCo answers the geometric queries, rays included (`mujoco_level`).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import AmbuloError
from ambulo.envs.vr.contract import (
    CLIMB_HEIGHT,
    GRAVITY,
    MAX_PUSH,
    MAX_SEAM,
    SLIDE_ITERATIONS,
    TELEPORT_EXACT,
    TELEPORT_PART,
    WorldSpec,
)
from ambulo.envs.vr.geometry.push_kernels import MOST_OVERLAPS, STUCK_DEPTH, way_out
from ambulo.envs.vr.geometry.solid_kernels import BOX, nearest_of
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import obstacles_of
from ambulo.envs.vr.world.actions import count_down, motion_of
from ambulo.envs.vr.world.base import BaseWorld
from ambulo.envs.vr.world.mujoco_level import Scene
from ambulo.envs.vr.world.packed_solids import PackedSolids
from ambulo.envs.vr.world.state import MOVERS_SEEN, WorldState

_TINY = 1e-9


def smooth_command(command: Floats, target: Floats, spec: WorldSpec) -> float:
    """Move `command` (3,) towards `target` (3,); return the yaw rate, [rad/s].

    command = decay command + (1 - decay) target; yaw rate = -command.rotation max_yaw_rate.
    """
    command += (1.0 - spec.tick_decay) * (target - command)
    return float(-command[2] * spec.max_yaw_rate)


def rows_between(before: Floats, after: Floats, fraction: float) -> Floats:
    """Rows of movers at a fraction of the step: before + fraction (after - before)."""
    rows = before + fraction * (after - before)
    rows[:, 4:6] /= np.linalg.norm(rows[:, 4:6], axis=1, keepdims=True)
    return rows


def carry(feet: Floats, carrier: int, old: Floats, new: Floats) -> None:
    """Move the feet (3,) with their carrier, whose rows change from `old` to `new`.

    feet += (x, y, top)_new - (x, y, top)_old.
    """
    if carrier >= 0:
        feet += new[carrier, [0, 1, 7]] - old[carrier, [0, 1, 7]]


def displacement(command: Floats, yaw: float, jump: Floats, spec: WorldSpec) -> Floats:
    """Displacement by the command in a tick, shape (2,), [m].

    R(yaw) (forward, -strafe) max_speed dt, and for a discrete move `jump` (left, ahead) R(yaw)
    (ahead, left) / K.
    """
    walk, part = command * (spec.max_speed * spec.dt), jump / spec.ticks_per_decision
    return turned(yaw, walk[1] + part[1], part[0] - walk[0])


def turned(yaw: float, ahead: float, left: float) -> Floats:
    """R(yaw) (ahead, left), shape (2,)."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.array([cos * ahead - sin * left, sin * ahead + cos * left])


def push_out(scene: Scene, start: Floats, feet: Floats) -> tuple[bool, bool]:
    """Push the feet (3,) out of overlapping shapes; returns contact with a thing, a person.

    Up to 4 times by the shortest displacement that resolves all overlaps. If one is left, or
    the body is `MAX_PUSH` from the start of the tick, it goes back there.
    """
    thing = person = False
    for passes in range(SLIDE_ITERATIONS + 1):
        found, geoms = scene.overlaps(*feet)
        people = scene.person[geoms]
        thing, person = thing or not people.all(), person or bool(people.any())
        deepest = found[:, 2].max(initial=0.0)
        last = passes == SLIDE_ITERATIONS
        if deepest == math.inf or (last and deepest > STUCK_DEPTH):
            feet[:2] = start[:2]
        if deepest in (0.0, math.inf) or last:
            break
        feet[:2] += way_out(found[:MOST_OVERLAPS], min(len(found), MOST_OVERLAPS))
    if math.dist(feet[:2], start[:2]) > MAX_PUSH:
        feet[:2] = start[:2]
    return thing, person


def floor_under(scene: Scene, feet: Floats, climb: float) -> tuple[float, int]:
    """Height of the floor that carries feet (3,), up to `climb` above them, and its mover.

    At most `CLIMB_HEIGHT` below them; else over a seam: the higher of two such floors on
    opposite sides within `MAX_SEAM` along an axis, at most as high as the feet. -inf: none.
    """
    x, y, z = feet.tolist()
    height, mover = scene.floor(x, y, z + climb)
    if height >= z - CLIMB_HEIGHT:
        return height, mover
    for dx, dy in ((MAX_SEAM, 0.0), (0.0, MAX_SEAM)):
        one, _ = scene.floor(x + dx, y + dy, z + CLIMB_HEIGHT)
        other, _ = scene.floor(x - dx, y - dy, z + CLIMB_HEIGHT)
        if min(one, other) >= z - CLIMB_HEIGHT:
            return min(max(one, other), z), -1
    return -math.inf, -1


def has_headroom(scene: Scene, feet: Floats, floor: float) -> bool:
    """Whether the space above a floor higher than the feet is free for the body."""
    x, y, z = feet.tolist()
    return floor <= z + _TINY or scene.is_clear(x, y, floor, scene.near(x, y, 0.0))


def step_up_or_down(
    scene: Scene, feet: Floats, back: Floats
) -> tuple[bool, int | None]:
    """Put feet (3,) on the floor below or above them; returns whether they hit, and the mover.

    Without headroom over a higher floor they hit, and go `back` (3,). None: they fall.
    """
    floor, mover = floor_under(scene, feet, CLIMB_HEIGHT)
    hits = not has_headroom(scene, feet, floor)
    if hits:
        feet[:2] = back[:2]
        floor, mover = floor_under(scene, feet, _TINY)
    if floor == -math.inf:
        return hits, None
    feet[2] = floor
    return hits, mover


def fall(scene: Scene, feet: Floats, velocity: Floats, spec: WorldSpec) -> int | None:
    """Fall for a tick; returns the mover that the feet (3,) land on (-1: none), or None.

    vz -= g dt; feet += velocity dt; pushed aside by at most max_speed dt; onto the first floor
    that they reach.
    """
    velocity[2] -= GRAVITY * spec.dt
    start = feet.copy()
    feet[:2] += velocity[:2] * spec.dt
    free = feet[:2].copy()
    push_out(scene, start, feet)
    push, most = math.dist(feet[:2], free), spec.max_speed * spec.dt
    if push > most:
        feet[:2] = free + (feet[:2] - free) * most / push
    floor, mover = scene.floor(feet[0], feet[1], feet[2] + _TINY)
    feet[2] += velocity[2] * spec.dt
    if feet[2] > floor:
        return None
    feet[2], velocity[2] = floor, 0.0
    return mover


def count_contact(since: Ints, env: int, touched: bool, rearm: int) -> int:
    """1 if a tick's contact is a new event: no contact in the last `rearm` ticks."""
    event = int(touched and since[env] >= rearm)
    since[env] = 0 if touched else since[env] + 1
    return event


def teleport(scene: Scene, feet: Floats, way: Floats, carrier: int) -> int:
    """Move feet (3,) by `way` (2,), as far as they can walk; return the final mover.

    In steps of 5 cm, each of which ends on floor without contact; the last one is halved down
    to 1 mm. `carrier` is the mover that they stand on.
    """
    begin, travel = feet[:2].copy(), math.hypot(*way)
    done, part = 0.0, TELEPORT_PART
    while part > TELEPORT_EXACT and done < travel:
        far = min(done + part, travel)
        landing = np.append(begin + way * (far / travel), feet[2])
        touched = any(push_out(scene, feet, landing.copy()))
        floor, mover = floor_under(scene, landing, CLIMB_HEIGHT)
        if touched or floor == -math.inf or not has_headroom(scene, landing, floor):
            part /= 2
        else:
            done, carrier = far, mover
            feet[:] = landing[0], landing[1], floor
    return carrier


def points_to_see(row: Floats) -> Floats:
    """Test points of visibility just off bottom and top of a mover, shape (10, 3), [m]."""
    x, y, a, b, cos, sin, bottom, top = row[:8]
    u = 0.8 * a * np.array([0, 1, -1, 1, -1])
    v = 0.8 * b * np.array([0, 1, 1, -1, -1])
    plan = np.column_stack([x + cos * u - sin * v, y + sin * u + cos * v])
    heights = np.repeat([bottom - 0.02, top + 0.02], len(plan))
    return np.column_stack([np.vstack([plan, plan]), heights])


class MujocoWorld(BaseWorld):
    """N envs in MuJoCo scenes; see `World` for the interface.

    Levels are compiled when an env is first placed in them; the `cache_size` last used stay
    compiled.
    """

    def __init__(
        self, num_envs: int, spec: WorldSpec, cache_size: int | None = None
    ) -> None:
        """`num_envs` envs, not yet placed in any level."""
        super().__init__(num_envs, spec)
        self._levels: dict[int, Level] = {}
        self._shapes = PackedSolids()  # for crowds
        self._takeoff = np.zeros(num_envs)  # height of the last floor
        self._carrier = np.full(num_envs, -1, np.int64)  # carrying mover
        self._cache_size = max(num_envs, 64) if cache_size is None else cache_size
        self._scenes: OrderedDict[int, Scene] = OrderedDict()

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`, flat ones as levels with heights."""
        levels = [level if level.heights else obstacles_of(level) for level in levels]
        self._shapes.set(slots, levels)
        self.moving.set_levels(slots, levels)
        for slot, level in zip(slots, levels, strict=True):
            self._levels[int(slot)] = level
            self._scenes.pop(int(slot), None)

    def reset(self, envs: Ints, slots: Ints, poses: Floats) -> None:
        """Place `envs` at `poses` (x, y, yaw, and height) in level `slots`, at rest."""
        envs = np.asarray(envs, np.int64)
        scenes = [self._scene(int(slot)) for slot in slots]
        self._place(envs, slots, poses)
        self.moving.begin(envs, self._slot, self.state.position)
        for env, scene in zip(envs.tolist(), scenes, strict=True):
            scene.move(self.moving.rows(env))
            feet = self.state.position[env]
            x, y, z = feet.tolist()
            floor, self._carrier[env] = scene.floor(x, y, z + CLIMB_HEIGHT)
            self.state.falling[env] = floor == -math.inf
            feet[2] = self._takeoff[env] = z if self.state.falling[env] else floor
            self._read_rays(env, scene)

    def step(self, actions: NDArray[np.generic]) -> WorldState:
        """Advance every env by one environment step."""
        spec, state = self.spec, self.state
        motion = motion_of(actions, spec, state.command, self.comfort, state.cooldown)
        self._check_placed()
        state.moves[:] = motion.jump.any(axis=1)
        if spec.teleport > 0.0:
            state.moves[self.state.falling] = 0
        state.snaps[:] = motion.snap != 0.0
        count_down(state.cooldown, motion.jump, motion.snap, spec)
        state.yaw[:] += motion.snap
        envs = np.arange(len(self._slot))
        self.moving.advance(
            envs, self._slot, state.position, state.velocity, self._shapes.arrays()
        )
        for env in envs.tolist():
            scene = self._scene(int(self._slot[env]))
            self._step_env(env, scene, motion.target[env], motion.jump[env])
            self._read_rays(env, scene)
        return state

    def _step_env(self, env: int, scene: Scene, target: Floats, jump: Floats) -> None:
        """Advance one env by the ticks of an environment step."""
        spec, state, ticks = self.spec, self.state, self.spec.ticks_per_decision
        feet, velocity = state.position[env], state.velocity[env]
        things = self.moving.state
        used = things.used[env]
        ends = things.before[env, :used], things.after[env, :used]
        scene.move(rows := rows_between(*ends, 0.0))
        begin = feet.copy()
        leaps = spec.teleport > 0.0 and jump.any() and not self.state.falling[env]
        if leaps:
            way = turned(float(state.yaw[env]), jump[1], jump[0])
            self._carrier[env] = teleport(scene, feet, way, int(self._carrier[env]))
        if spec.teleport > 0.0:
            jump = np.zeros(2)
        leap = feet[:2] - begin[:2]
        state.path[env] = math.hypot(*leap)
        state.contact_ticks[env] = state.people_ticks[env] = 0
        state.collisions[env] = state.people_collisions[env] = 0
        for tick in range(ticks):
            start, old = feet.copy(), rows
            state.yaw_rate[env] = smooth_command(state.command[env], target, spec)
            state.yaw[env] += state.yaw_rate[env] * spec.dt
            scene.move(rows := rows_between(*ends, (tick + 1) / ticks))
            carry(feet, int(self._carrier[env]), old, rows)
            if self.state.falling[env]:
                thing = person = False
                mover = fall(scene, feet, velocity, spec)
            else:
                back, yaw = feet.copy(), float(state.yaw[env])
                feet[:2] += displacement(state.command[env], yaw, jump, spec)
                thing, person = push_out(scene, start, feet)
                hits, mover = step_up_or_down(scene, feet, back)
                thing = thing or hits
                self._takeoff[env] = feet[2]
                velocity[:2], velocity[2] = (feet[:2] - start[:2]) / spec.dt, 0.0
            self.state.falling[env] = mover is None
            self._carrier[env] = -1 if mover is None else mover
            state.path[env] += math.dist(feet[:2], start[:2])
            state.contact_ticks[env] += thing or person
            state.people_ticks[env] += person
            rearm = spec.rearm_ticks
            met = count_contact(state.since_person, env, person, rearm)
            hit = count_contact(state.since_contact, env, thing, rearm)
            state.people_collisions[env] += met
            state.collisions[env] += met + hit
            state.fell[env] |= feet[2] < self._takeoff[env] - spec.fall_depth
        if leaps:
            velocity[:2] = leap / spec.decision_dt
        if not self.state.falling[env]:
            velocity[2] = (feet[2] - begin[2]) / spec.decision_dt

    def _read_rays(self, env: int, scene: Scene) -> None:
        """Read the rays of one env, ray i at i 2 pi / n to the left of ray 0."""
        spec, rays = self.spec, self.state.rays[env]
        rays[:] = spec.ray_length
        state = self.state
        state.ray_ends[env], state.ray_floors[env], state.movers[env] = 0, 0.0, 0.0
        if state.falling[env]:
            return
        feet = self.state.position[env]
        geoms = scene.near(feet[0], feet[1], spec.ray_length)
        first = float(self.state.yaw[env]) if spec.rays_in_head_frame else 0.0
        for i in range(len(rays)):
            heading = first + i * 2.0 * math.pi / len(rays)
            rays[i], kind, floors = scene.free_way(geoms, feet, heading, spec)
            if spec.surroundings:
                state.ray_ends[env, i], state.ray_floors[env, i] = kind, floors
        if spec.surroundings:
            seen = self._things_in_sight(env, scene)
            state.movers[env, : len(seen)] = seen

    def _things_in_sight(self, env: int, scene: Scene) -> Floats:
        """The nearest visible movers of one env, as `WorldState.movers`."""
        spec, feet = self.spec, self.state.position[env]
        eye = feet + np.array([0.0, 0.0, spec.eye_height])
        rows, dt = self.moving.rows(env), spec.decision_dt
        found = []
        for old, row in zip(
            self.moving.state.before[env, : len(rows)], rows, strict=True
        ):
            gap = math.hypot(*nearest_of(feet[0], feet[1], row, row[8] != BOX))
            if row[8] == 0.0 or gap > spec.ray_length:
                continue
            looks = (
                scene.is_visible(eye, point)
                for point in points_to_see(row)
                if math.dist(eye, point) <= spec.ray_length
            )
            if gap <= 0.05 or any(looks):
                turn = math.atan2(
                    old[4] * row[5] - old[5] * row[4], old[4] * row[4] + old[5] * row[5]
                )
                rates = [*(row[[0, 1, 6]] - old[[0, 1, 6]]), turn]
                found.append((gap, [*row, *np.array(rates) / dt]))
        found.sort(key=lambda pair: pair[0])
        return np.array([row for _, row in found[:MOVERS_SEEN]]).reshape(-1, 13)

    def close(self) -> None:
        """Free the compiled levels; envs are in none until their reset."""
        self._scenes.clear()
        self._slot[:] = -1

    def __getstate__(self) -> dict[str, Any]:
        """State without the compiled levels, which copies compile again."""
        return {**self.__dict__, "_scenes": OrderedDict()}

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        own = {"takeoff": self._takeoff, "carrier": self._carrier}
        return {**super()._arrays(), **own}

    def _scene(self, slot: int) -> Scene:
        """The compiled level of a slot."""
        if slot not in self._levels:
            raise AmbuloError(f"slot {slot} holds no level: call set_levels first")
        scene = self._scenes.pop(slot, None)
        if scene is None:
            scene = Scene(self._levels[slot], self.spec.body_height)
        self._scenes[slot] = scene
        while len(self._scenes) > self._cache_size:
            self._scenes.popitem(last=False)
        return scene
