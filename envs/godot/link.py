"""The link to an engine that plays our capsule: versions, levels, and its messages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.godot import protocol
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.engine_link import EngineLink
from ambulo.envs.godot.errors import Malformed
from ambulo.envs.godot.scene_map import enter_scene
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.transport import BINARY
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level

LEVELS_PER_REQUEST = 16
"""Most levels that are sent in one message."""
OBSTACLES_PER_REQUEST = 5000
"""A message with this many obstacles takes no further level."""
_COUNTER = 1 << 32


class WorldLink(EngineLink):
    """One engine that holds some of the envs of a `GodotWorld`; `open` forgets them."""

    def __init__(
        self,
        number: int,
        envs: Ints,
        spec: WorldSpec,
        settings: BridgeSettings,
        log_folder: Path,
    ) -> None:
        """A link that is not yet open.

        Args:
            number: of the engine, for logs.
            envs: indices of the envs that the engine holds, ascending, without gaps.
            spec: settings of the world.
            settings: where the engine comes from.
            log_folder: of `engine-<number>.log`; not used when attached.

        Raises:
            BridgeError: no engine (of a version that will do) or no project found.
            ConfigError: the URL is none, or the token would leave this machine.
        """
        super().__init__(number, settings, log_folder)
        self.envs = envs
        self.first, self.agents = int(envs[0]), len(envs)
        self.rows = slice(self.first, self.first + self.agents)
        self.layout = protocol.RowLayout(spec)
        self._spec = spec
        self._has_things = False
        self._comfort = np.ones(self.agents)
        self._known: dict[int, Level] = {}
        self._counter: int | None = None

    def _start(self) -> EngineProcess:
        return EngineProcess(
            self._binary,
            self._project,
            self.log_file,
            agents=self.agents,
            scene=self._settings.scene,
            frames=max(1, round(1.0 / self._spec.decision_dt)),
        )

    def _configure(self) -> None:
        assert self._connection is not None
        self._known, self._counter = {}, None
        self._has_things = False
        self._comfort = np.ones(self.agents)
        body = protocol.spec_message(self._spec, self.agents)
        answer = self._must("/rl/spec", body).json()
        protocol.check_spec(answer, self.layout, self.agents)
        if self._settings.scene is not None:
            enter_scene(self._connection, self._settings.scene)

    def forget(self, slots: Sequence[int]) -> None:
        """Levels of these slots must be sent again before the next env enters."""
        for slot in slots:
            self._known.pop(slot, None)

    def send_levels(self, slots: Ints, levels: dict[int, Level]) -> None:
        """Send the levels of `slots` that the engine does not have; a scene is there."""
        if self._settings.scene is not None:
            return
        missing = [s for s in dict.fromkeys(slots.tolist()) if s not in self._known]
        part: dict[int, Level] = {}
        obstacles = 0
        for slot in missing:
            level = part[slot] = levels[slot]
            obstacles += len(level.boxes) + len(level.cylinders) + len(level.holes)
            full = len(part) >= LEVELS_PER_REQUEST or obstacles >= OBSTACLES_PER_REQUEST
            if full or slot == missing[-1]:
                body = protocol.levels_message(list(part), list(part.values()))
                self._must("/rl/levels", body)
                self._known.update(part)
                part, obstacles = {}, 0

    def send_things(self, counts: Ints, rows: Floats) -> None:
        """Say where what moves is at the end of the next decision (`MovingThings`)."""
        if not (counts.any() or self._has_things):
            return
        body = protocol.things_message(counts, rows)
        self._ask("/rl/things", body, BINARY).checked()
        self._has_things = bool(counts.any())

    def send_comfort(self, comfort: Floats) -> None:
        """Say where the comfort dials (agents,) are, if they have changed."""
        if not np.array_equal(comfort, self._comfort):
            self._must("/rl/comfort", protocol.comfort_message(comfort))
            self._comfort = comfort.copy()

    def reset(self, envs: Ints, slots: Ints, poses: Floats) -> Floats:
        """Place `envs` (of this link) and return their rows (k, width)."""
        body = protocol.reset_message(envs - self.first, slots, poses)
        response = self._ask("/rl/reset", body)
        return protocol.parse_states(response, len(envs), self.layout.width)

    def restore(self, envs: Ints, slots: Ints, rows: Floats) -> None:
        """Put `envs` into states that were read before."""
        body = protocol.restore_message(envs - self.first, slots, rows)
        self._ask("/rl/state", body, BINARY).checked()

    def send_step(self, actions: NDArray[Any]) -> None:
        """Send the actions of this link's envs; `receive_step` must follow."""
        assert self._connection is not None
        self._connection.send(
            "POST", "/rl/step", protocol.step_message(actions),
            content_type=BINARY, accept=BINARY,
        )  # fmt: skip

    def receive_step(self) -> Floats:
        """Rows (agents, width) after the decision."""
        assert self._connection is not None
        response = self._connection.receive()
        rows, counter = protocol.parse_rows(response, self.agents, self.layout.width)
        if self._counter is not None and counter != (self._counter + 1) % _COUNTER:
            raise Malformed(
                f"decision {counter} came after {self._counter}: "
                "someone else drives this engine, or it was restarted"
            )
        self._counter = counter
        return rows


def split_envs(num_envs: int, engines: int) -> list[Ints]:
    """Split N environments into consecutive, near-equal ranges, one for each engine."""
    count = max(1, min(engines, num_envs))
    return list(np.array_split(np.arange(num_envs), count))
