"""The world of docs/vr_world.md in real Godot engines, with the interface of the others."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import AmbuloError
from ambulo.envs.godot.errors import BridgeFault
from ambulo.envs.godot.fleet import EngineFleet
from ambulo.envs.godot.link import WorldLink, split_envs
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.actions import motion_of
from ambulo.envs.vr.world.base import BaseWorld
from ambulo.envs.vr.world.packed_solids import PackedSolids
from ambulo.envs.vr.world.state import WorldState

log = logging.getLogger(__name__)


class GodotWorld(BaseWorld):
    """N envs spread over Godot engines; see `World` for the interface.

    The state that Python holds is the master: an engine that was restarted gets its levels
    and envs from here. When an engine breaks down in a step, its envs keep the
    state before it and are marked in `state.fault`; a fault in `reset` is mended before it
    returns. `faults` counts every fault by kind.

    Moving obstacles of a level move here, and their poses are sent to the engines; in a
    scene the scene moves them.
    """

    def __init__(
        self, num_envs: int, spec: WorldSpec, settings: BridgeSettings | None = None
    ) -> None:
        """Start the engines, or connect to the one that `settings` names.

        Args:
            num_envs: N, spread evenly.
            spec: settings of the world.
            settings: where the engines come from; None: one that is started here.

        Raises:
            BridgeError: no engine, or one that cannot be started, reached or driven.
        """
        super().__init__(num_envs, spec)
        self._settings = settings or BridgeSettings()
        self._levels: dict[int, Level] = {}
        self._solids = PackedSolids()
        self._stale = np.zeros(num_envs, np.bool_)
        """Whether each env must be restored before its engine steps it, shape (N,)."""
        engines = 1 if self._settings.url else self._settings.engines
        self._fleet: EngineFleet[WorldLink] = EngineFleet(
            self._settings,
            lambda folder: [
                WorldLink(number, envs, spec, self._settings, folder)
                for number, envs in enumerate(split_envs(num_envs, engines))
            ],
        )
        self._links = self._fleet.links
        self.faults = self._fleet.faults

    @property
    def pids(self) -> list[int]:
        """Process ids of the engines that were started here."""
        return self._fleet.pids

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`; sent when an env enters it or is in it.

        Raises:
            LevelError: something moves too fast for the ticks of this world.
        """
        if self._settings.scene is None:
            self.moving.set_levels(slots, levels)
            if self.moving.some:
                known = {**self._levels, **dict(zip(slots, levels, strict=True))}
                self._solids.set(list(known), list(known.values()))
        changed = [
            slot
            for slot, level in zip(slots, levels, strict=True)
            if self._levels.get(slot) is not level
        ]
        self._levels.update(zip(slots, levels, strict=True))
        self._stale |= np.isin(self._slot, changed)
        for link in self._links:
            link.forget(changed)

    def reset(self, envs: Ints, slots: Ints, poses: Floats) -> None:
        """Place `envs` at `poses` (k, 3 or 4) in level `slots`, at rest.

        Raises:
            AmbuloError: a slot without a level.
            BridgeError: an engine that stays broken.
        """
        self._check_open()
        envs, slots = np.asarray(envs, np.int64), np.asarray(slots, np.int64)
        for slot in slots.tolist():
            if slot not in self._levels:
                raise AmbuloError(f"slot {slot} holds no level: call set_levels first")
        poses = self._with_heights(slots, poses)
        self._place(envs, slots, poses)
        self.state.fault[envs] = False
        self.moving.begin(envs, self._slot, self.state.position)
        for link in self._links:
            chosen = np.flatnonzero((envs >= link.rows.start) & (envs < link.rows.stop))
            if len(chosen):
                self._reset(link, envs[chosen], slots[chosen], poses[chosen])

    def step(self, actions: NDArray[np.generic]) -> WorldState:
        """Advance every env by one environment step; all engines work at the same time.

        Raises:
            ActionError: actions of the wrong shape, or not finite.
            BridgeError: an engine that stays broken.
        """
        self._check_open()
        values = self._checked(actions)
        self._check_placed()
        self.state.fault[:] = False
        waiting = []
        self._advance_things()
        for link in self._links:
            try:
                self._bring_up(link)
                self._send_things(link)
                if self.comfort is not None:
                    link.send_comfort(self.comfort[link.rows])
                link.send_step(values[link.rows])
                waiting.append(link)
            except BridgeFault as fault:
                self._lose(link, fault)
        for link in waiting:
            try:
                rows = link.receive_step()
            except BridgeFault as fault:
                self._lose(link, fault)
            else:
                link.failures = 0
                link.layout.write(rows, self.state, self.state.falling, link.rows)
        return self.state

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`; slots must hold the same levels.

        The engines get it before the next environment step.
        """
        super().load_state_dict(arrays)
        self.state.fault[:] = False
        for link in self._links:
            link.invalidate()

    def close(self) -> None:
        """End the engines that were started here; hang up on others."""
        self._fleet.close()

    def _with_heights(self, slots: Ints, poses: Floats) -> Floats:
        """`poses` (k, 3 or 4) with heights, or without where all floors are at 0."""
        if self._settings.scene is None and not any(
            self._levels[slot].heights for slot in slots.tolist()
        ):
            return poses[:, :3]
        return np.pad(poses, ((0, 0), (0, 4 - poses.shape[1])))

    def _checked(self, actions: NDArray[np.generic]) -> Floats:
        """`actions` as float64, if `motion_of` raises no error for them."""
        expected = (len(self._slot), 3)
        if (
            self.spec.discrete
            or not isinstance(actions, np.ndarray)
            or actions.dtype != np.float64
            or actions.shape != expected
            or not np.isfinite(actions).all()
        ):  # the usual batch is known to be good without it
            motion_of(actions, self.spec, self.state.command)
        return np.asarray(actions, np.float64)

    def _check_open(self) -> None:
        if self._fleet.closed:  # or engines would be started and never ended
            raise AmbuloError("the world is closed: make a new one")

    def _bring_up(self, link: WorldLink, leave_out: Ints | None = None) -> None:
        """One attempt to make `link` ready, with its envs where they were.

        Those to `leave_out` are about to be placed anew.
        """
        opened = not link.ready
        if opened:
            self._fleet.open(link)
            self._stale[link.rows] = self._slot[link.rows] >= 0
        stale = link.envs[self._stale[link.envs]]
        if leave_out is not None:
            stale = np.setdiff1d(stale, leave_out)
        if len(stale):
            link.send_levels(self._slot[stale], self._levels)
            self._send_things(link, before=True)
            rows = link.layout.read(self.state, self.state.falling, stale)
            link.restore(stale, self._slot[stale], rows)
            self._stale[stale] = False
        if opened and link.failures:
            log.info("%s is back, with %d envs restored", link.name, len(stale))

    def _reset(self, link: WorldLink, envs: Ints, slots: Ints, poses: Floats) -> None:
        """Place envs of one link, for as long as its faults are borne."""
        while True:
            try:
                self._bring_up(link, leave_out=envs)
                link.send_levels(slots, self._levels)
                self._send_things(link)
                rows = link.reset(envs, slots, poses)
                break
            except BridgeFault as fault:
                self._fleet.note(link, fault, "while envs were placed")
        link.layout.write(rows, self.state, self.state.falling, envs)
        self._stale[envs] = False

    def _advance_things(self) -> None:
        """Move what moves by one step, where the agents stand now."""
        if not self.moving.some:
            return
        moved: Ints = np.flatnonzero(
            [
                slot in self._levels and self._levels[slot].moving
                for slot in self._slot.tolist()
            ]
        )
        state = self.state
        self.moving.advance(
            moved, self._slot, state.position, state.velocity, self._solids.arrays()
        )

    def _send_things(self, link: WorldLink, *, before: bool = False) -> None:
        """Tell an engine where what moves is after this step, or was before it."""
        things = self.moving.state
        rows = things.before if before else things.after
        link.send_things(things.used[link.rows], rows[link.rows])

    def _lose(self, link: WorldLink, fault: BridgeFault) -> None:
        """Mark the envs of a link that broke down in this step."""
        state = self.state
        state.fault[link.rows] = True
        for happened in (
            state.path, state.contact_ticks, state.collisions, state.people_ticks,
            state.people_collisions, state.moves, state.snaps,
        ):  # fmt: skip
            happened[link.rows] = 0
        self._fleet.note(link, fault, f"{link.agents} envs lost their episodes")
