"""The one implementation of VR navigation: N envs, their tasks, rewards and terminations.

The Gymnasium environments and the SB3 adapter are thin wrappers of `NavigationBatch`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr_learning import VELOCITY_SCALE
from ambulo.envs.state_arrays import flattened, part_of
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.geometry.solid_ray_kernels import FLOOR_PARTS, NOTHING, WALL
from ambulo.envs.vr.navigator.navigator import Sensed
from ambulo.envs.vr.navigator.steering import WALK
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.envs.vr.task.comfort import comfort_score, smoothness
from ambulo.envs.vr.task.episode import NavigationEpisode, seen_velocity
from ambulo.envs.vr.task.memory import Memory, memory_fields
from ambulo.envs.vr.task.observation import (
    TASKS,
    observation_layout,
    observe,
    write_privileged,
)
from ambulo.envs.vr.task.reward import (
    REWARD_TERMS,
    RewardTerm,
    Transition,
    reward_terms,
)
from ambulo.envs.vr.task.shared_levels import SharedLevels
from ambulo.envs.vr.task.tasks import (
    FOLLOW,
    TaskState,
    advance_tasks,
    drawn_between,
    goal_places,
    reached_for,
    rest_of_tour,
    task_distance,
)
from ambulo.envs.vr.world.actions import follow_plan
from ambulo.envs.vr.world.state import World

if TYPE_CHECKING:
    from ambulo.envs.vr.body.priors import BodyPriors

Info = dict[str, NDArray[np.generic]]
_AT_AN_END = 1e-4
"""Tolerance of the ray length, above which a ray ends at a shape, [m]."""
_SEEDS = 2**31
"""Number of seeds of an episode in a world with random numbers."""


class NavigationBatch:
    """N envs in a bank of levels, without autoreset.

    `step` leaves finished envs as they are; the caller resets them. All arrays returned
    are owned by the batch and overwritten by the next call.
    """

    def __init__(
        self,
        config: NavigationConfig,
        bank: LevelBank,
        world: World,
        *,
        num_envs: int,
        privileged: bool = False,
        custom_terms: Sequence[RewardTerm] = (),
    ) -> None:
        """Create envs before any reset.

        Args:
            config: All settings.
            bank: Levels and distance fields; they are put into `world` here.
            world: World of `num_envs` envs.
            num_envs: N.
            privileged: Append the critic's extra numbers to the observation.
            custom_terms: Extra reward terms.
        """
        self.config, self.bank = config, bank
        self.num_envs, self.privileged = num_envs, privileged
        self.layout = observation_layout(config)
        self.spec: WorldSpec = world.spec
        env, senses = config.environment, config.observations
        self.shared = SharedLevels(num_envs, env.agents) if env.agents > 1 else None
        self.comfort: Floats | None = np.ones(num_envs) if senses.comfort else None
        self.enter(world)
        self.goal_distance, self.tasks = env.goal_distance, env.tasks
        self._custom = tuple(custom_terms)
        self.memory = Memory(senses.memory, num_envs, senses.plan_reach)
        size = self.layout.full_size if privileged else self.layout.size
        self.obs = np.zeros((num_envs, size), np.float32)
        self._slices = self.layout.slices()
        self.episode = NavigationEpisode.zeros(num_envs)
        self.task = TaskState.zeros(num_envs)
        self.starts: list[Start | None] = [None] * num_envs
        self.rngs = [np.random.default_rng(i) for i in range(num_envs)]
        world.set_levels(range(len(bank)), bank.levels)

    def enter(self, world: World) -> None:
        """Use `world` from the next episodes on.

        Raises:
            ConfigError: The settings need priors that its bodies do not support.
        """
        self.world = world
        world.comfort = self.comfort
        if self.config.environment.agents > 1:
            world.share(self.config.environment.agents)
        self._priors: BodyPriors | None = None
        if self.config.needs_poses:
            from ambulo.envs.vr.body.priors import make_priors

            self._priors = make_priors(self.config, world, self.num_envs)

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Seed the generator of each env whose seed is not None."""
        for index, seed in enumerate(seeds):
            if seed is not None:
                self.rngs[index] = np.random.default_rng(seed)

    def reset(
        self, envs: Ints, starts: Sequence[Start] | None = None
    ) -> NDArray[np.float32]:
        """Begin new episodes of `envs`, drawn or at `starts`; returns observations."""
        starts = self._drawn(envs) if starts is None else starts
        slots = np.array([s.slot for s in starts], np.int64)
        goals = np.array([s.goal for s in starts], np.int64)
        poses = np.array([[*s.pose, s.height] for s in starts])
        for p, start in zip(envs, starts, strict=True):
            self.starts[p] = start
        if self.world.stochastic:
            seeds = [self.rngs[p].integers(_SEEDS) for p in envs]
            self.world.seed(envs, np.array(seeds))
        self.world.reset(envs, slots, poses)
        if self.shared is not None:
            self.shared.begin(envs)
        if self._priors is not None:
            self._priors.begin(np.asarray(envs, np.int64))
        self.memory.reset(envs)
        tasks, env = self.tasks, self.config.environment
        kinds = [
            TASKS.index(tasks[0] if len(tasks) == 1 else self.rngs[p].choice(tasks))
            for p in envs
        ]
        reach = self.spec.body_scale * drawn_between(self.rngs, envs, env.reach_height)
        if self.comfort is not None:
            self.comfort[envs] = drawn_between(self.rngs, envs, env.comfort_range)
        self.task.begin(envs, np.array(kinds), slots, goals, self.bank, reach)
        self._lead_hands()
        self.episode.begin(envs, poses[:, :3])
        distance, euclid = self._distances()
        distance = np.where(np.isfinite(distance), distance, euclid)
        tour = distance + rest_of_tour(self.task, self.bank, env)
        self.episode.start_distance[envs] = tour[envs]
        self.episode.distance[envs] = self.episode.best[envs] = distance[envs]
        self._observe(envs)
        return self.obs

    def move_goal(self, env: int, place: Floats) -> bool:
        """Move the goal of `env` in its level to `place` (3,), [m]; returns whether it moved.

        All environments of that level with this goal get it there from then on. The agent's
        progress is measured from its present position.
        """
        slot, goal = int(self.task.slot[env]), int(self.task.index[env])
        if not self.bank.move_goal(slot, goal, place):
            return False
        same = (self.task.slot == slot) & (self.task.index == goal)
        self.task.goal[same, : place.shape[0]] = place
        distance, euclid = self._distances()
        distance = np.where(np.isfinite(distance), distance, euclid)
        self.episode.distance[same] = self.episode.best[same] = distance[same]
        return True

    def _following_plan(self, actions: NDArray[np.generic]) -> NDArray[np.generic]:
        """`actions`, overridden by the navigator where it does not walk on."""
        walks = self.obs[:, self._slices["route_state"]][:, WALK] > 0.0
        asked = self.obs[:, self._slices["route_velocity"]].astype(np.float64)
        return follow_plan(actions, walks, asked / VELOCITY_SCALE, self.spec)

    def episode_info(self) -> dict[str, NDArray[np.object_]]:
        """Return the name of each environment's level as `level`."""
        return {"level": self.bank.names[self.task.slot]}

    def start_info(self) -> dict[str, NDArray[Any]]:
        """Return the info of a reset: `episode_info` and the keys of a step."""
        zero, no = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        terms = (*REWARD_TERMS, *(term.name for term in self._custom))
        return {
            "is_success": no,
            "fell": no,
            "distance": self.episode.distance.copy(),
            "comfort": np.ones(self.num_envs),
            "collisions": np.zeros(self.num_envs, np.int64),
            "people_collisions": np.zeros(self.num_envs, np.int64),
            "bridge_fault": no,
            **({} if self.shared is None else {"cut_off": no}),
            **{f"reward/{name}": zero for name in terms},
            **self.world.details(),
            **self.episode_info(),
        }

    def step(
        self, actions: NDArray[np.generic]
    ) -> tuple[NDArray[np.float32], Floats, Bools, Bools, Info]:
        """One environment step: observations (N, size), rewards, terminated, truncated, info.

        `info` holds arrays over envs: `is_success`, `fell`, `distance`, `comfort`, `collisions`
        (all), `people_collisions`, `bridge_fault` and every reward term as `reward/<name>`. An
        env with a bridge fault has lost its engine: it is truncated without a reward. Where
        agents share levels, `cut_off` marks episodes truncated because all agents move to
        another level.

        Raises:
            ActionError: Actions of the wrong shape, or not finite.
        """
        episode, env = self.episode, self.config.environment
        now = self.world.state
        old_position, old_command = now.position.copy(), now.command.copy()
        old_velocity = seen_velocity(now, self.spec).copy()
        old_yaw, old_rate = now.yaw.copy(), now.yaw_rate.copy()
        self._lead_hands()
        if self.config.actions.follow_plan:
            actions = self._following_plan(actions)
        state = self.world.step(actions)
        if (priors := self._priors) is not None:
            priors.advance()
        episode.steps[:] += 1
        before = episode.distance
        goals, switched = advance_tasks(
            self.task, state, self.bank, env, self.spec.decision_dt
        )
        distance, euclid = self._distances()
        distance = np.where(np.isfinite(distance), distance, before)
        before = np.where(switched, distance, before)
        follows = self.task.kind == FOLLOW
        if follows.any():  # only the agent's motion counts, not the goal's
            to_goal = np.hypot(*(self.task.goal - old_position)[:, :2].T)
            before = np.where(follows, to_goal, before)
        fault = state.fault.copy()
        solved = self.task.solved & ~state.fell & ~fault
        fell = state.fell & ~fault
        timeout = (episode.steps >= env.max_episode_steps) & ~(solved | fell | fault)
        velocity = seen_velocity(state, self.spec)
        speed = np.hypot(velocity[:, 0], velocity[:, 1])
        comfort = comfort_score(state.yaw_rate, speed, self.spec.max_speed)
        index = episode.feel(state, old_velocity, old_rate, self.spec, velocity)
        best = np.where(switched, distance, np.minimum(episode.best, distance))
        transition = Transition(
            progress=before - distance,
            new_best=np.where(
                switched,
                0.0,
                np.maximum(np.minimum(episode.best, before) - distance, 0.0),
            ),
            goals=goals,
            comfort=comfort,
            comfort_index=index,
            smoothness=smoothness(velocity - old_velocity, self.spec.decision_dt),
            collisions=state.collisions,
            contact_ticks=state.contact_ticks,
            people_collisions=state.people_collisions,
            people_ticks=state.people_ticks,
            fell=fell,
            timeout=timeout,
            moves=state.moves,
            walked=np.hypot(*(state.position - old_position)[:, :2].T),
            turned=np.abs(state.yaw - old_yaw),
            action_change=np.mean((state.command - old_command) ** 2, axis=1),
            posture=np.zeros(self.num_envs) if priors is None else priors.posture,
            novelty=np.zeros(self.num_envs) if priors is None else priors.novelty,
            dial=1.0 if self.comfort is None else self.comfort,
        )
        truncated = timeout | fault
        cut: Info = {}
        if self.shared is not None:
            cut_off = self.shared.cut_off(solved | fell | timeout)
            truncated, cut = truncated | cut_off, {"cut_off": cut_off}
        terms = reward_terms(transition, self.config.rewards, self._custom)
        if fault.any():
            terms = {name: np.where(fault, 0.0, term) for name, term in terms.items()}
        reward = np.zeros(self.num_envs)
        for term in terms.values():
            reward += term
        episode.advance(state, distance, best, comfort, index, reward)
        self._observe(np.arange(self.num_envs), distance, euclid)
        info: Info = {
            "is_success": solved,
            "fell": fell,
            "distance": distance,
            "comfort": comfort,
            "collisions": state.collisions,
            "people_collisions": state.people_collisions,
            "bridge_fault": fault,
            **cut,
            **{f"reward/{name}": value for name, value in terms.items()},
            **self.world.details(),
        }
        return self.obs, reward, solved | fell, truncated, info

    def _parts(self) -> dict[str, Any]:
        """The components with a state of their own."""
        parts = {
            "world": self.world,
            "memory": self.memory,
            "episode": self.episode,
            "task": self.task,
            "priors": self._priors,
            "shared": self.shared,
        }
        return {name: part for name, part in parts.items() if part is not None}

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all arrays that a bit-exact continuation needs (bank excluded)."""
        dial: Info = {} if self.comfort is None else {"comfort": self.comfort.copy()}
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        return flattened({**parts, "batch": {"obs": self.obs.copy()}, "dial": dial})

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`; the bank must hold the same levels."""
        for name, part in self._parts().items():
            part.load_state_dict(part_of(arrays, name))
        self.obs[...] = arrays["batch.obs"]
        if self.comfort is not None:
            self.comfort[:] = arrays["dial.comfort"]

    def close(self) -> None:
        """Free the world."""
        self.world.close()

    def _drawn(self, envs: Ints) -> list[Start]:
        """Random starts of `envs` (k,)."""
        if self.shared is None:
            return [
                self.bank.draw(self.rngs[p], goal_distance=self.goal_distance)
                for p in envs
            ]
        places = np.where(
            self.world.present()[:, None], self.world.state.position, np.nan
        )
        return self.shared.draw(
            envs, self.bank, self.rngs, self.task.slot, places, self.goal_distance
        )

    def _sensed(self) -> Sensed:
        """Readings of the bodies, in the frame of their levels.

        If their world reports only the lengths of rays, floors are assumed level, and all
        obstacles static.
        """
        state, spec = self.world.state, self.spec
        kinds, floors = state.ray_ends, state.ray_floors
        if not spec.surroundings:
            kinds = np.where(state.rays < spec.ray_length - _AT_AN_END, WALL, NOTHING)
            floors = np.zeros((*state.rays.shape, FLOOR_PARTS))
        return Sensed(
            state.position,
            state.yaw if spec.rays_in_head_frame else np.zeros_like(state.yaw),
            goal_places(self.task, self.bank),
            state.rays,
            kinds,
            floors,
            state.movers,
            state.falling,
        )

    def _lead_hands(self) -> None:
        """Report the hands' targets to the world, in the task `reach`."""
        if "reach" in self.tasks:
            self.world.reach(reached_for(self.task))

    def _distances(self) -> tuple[Floats, Floats]:
        """Distance for progress, and straight distance, shape (N,)."""
        geodesic = self.config.rewards.progress_metric == "geodesic"
        return task_distance(self.task, self.world.state, self.bank, geodesic)

    def _observe(
        self,
        envs: Ints,
        distance: Floats | None = None,
        euclid: Floats | None = None,
    ) -> None:
        """Write the observations of `envs` (all rows are computed, few are cheap)."""
        state, obs, config = self.world.state, self.obs, self.config
        frame = config.observations.frame
        if distance is None or euclid is None:
            _, euclid = self._distances()
            distance = self.episode.distance
        whole = len(envs) == self.num_envs
        out = obs if whole else np.empty_like(obs)
        origin, eyes = self.episode.origin, self.spec.eye_height
        observe(state, self.task.goal, origin, frame, out, eyes)
        if "task" in self._slices:
            out[:, self._slices["task"]] = np.eye(len(TASKS))[self.task.kind]
        if self.comfort is not None:
            out[:, self._slices["comfort"]] = self.comfort[:, None]
        if self.memory.size:
            at = self._slices[memory_fields(self.memory.kind)[0][0]].start
            self.memory.update(
                envs, self._sensed(), state.yaw, origin, self.spec, euclid,
                out[:, at : at + self.memory.size],
            )  # fmt: skip
        if self._priors is not None and "motion" in self._slices:
            out[:, self._slices["motion"]] = self._priors.codes
        if self.privileged and self.layout.privileged:
            way = self.bank.direction(self.task.slot, self.task.index, state.position)
            limit = config.environment.max_episode_steps
            write_privileged(
                out, self._slices, state, way, distance, distance - euclid,
                self.episode.steps / limit,
                state.contact_ticks / self.spec.ticks_per_decision,
            )  # fmt: skip
        if not whole:
            obs[envs] = out[envs]
