"""A small client of a running game for scripts and notebooks, on `requests`.

One call at a time and JSON only: training uses the faster `transport`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import requests
from numpy.typing import ArrayLike

from ambulo.configs.closing import Closing
from ambulo.envs.godot.errors import (
    BridgeFault,
    Closed,
    Malformed,
    Refused,
    TimedOut,
)
from ambulo.envs.godot.transport import Response, check_token
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import level_data

DEFAULT_URL = "http://127.0.0.1:8080"
"""Default address of the game."""


class GodotClient(Closing):
    """The published calls of the game, and the batched ones of docs/godot_api.md.

    Every call raises a `BridgeFault`: `Refused` when no server listens, `TimedOut`, `Closed`,
    `Malformed` for an answer that is no JSON, and `BadStatus` for an error of HTTP.
    """

    def __init__(
        self, url: str = DEFAULT_URL, *, timeout: float = 10.0, token: str | None = None
    ) -> None:
        """A client of the game at `url`; nothing is sent yet.

        Args:
            url: address of the game.
            timeout: of a call, [s].
            token: bearer token.

        Raises:
            ConfigError: a token that would go to another machine by plain HTTP.
        """
        self.url, self.timeout = url.rstrip("/"), timeout
        parts = urlsplit(self.url)
        if parts.scheme != "https":
            check_token(parts.hostname or "", token)
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy must not see the game
        if token is not None:
            self._session.headers["Authorization"] = f"Bearer {token}"

    def health_check(self) -> bool:
        """Whether a game answers and is well."""
        try:
            return bool(self._call("GET", "/health").get("status") == "ok")
        except (BridgeFault, AttributeError):
            return False

    def load_scene(self, scene_path: str) -> dict[str, Any]:
        """Open the scene `scene_path` (res://...), one of the game's white list."""
        return self._table("POST", "/scene", {"scene_path": scene_path})

    def get_scene_state(self) -> dict[str, Any]:
        """Name, path and status of the open scene."""
        return self._table("GET", "/scene")

    def get_performance_metrics(self) -> dict[str, Any]:
        """Frames per second, process times and memory of the engine."""
        return self._table("GET", "/performance")

    def get_status(self) -> dict[str, Any]:
        """State of the game's server."""
        return self._table("GET", "/status")

    def spec(
        self, spec: Mapping[str, Any] | None = None, *, agents: int | None = None
    ) -> dict[str, Any]:
        """Versions, units and meanings of everything; first configured if asked to.

        Args:
            spec: fields of `WorldSpec` to configure; forgets agents' places.
            agents: number of agents to configure.
        """
        if spec is None and agents is None:
            return self._table("GET", "/rl/spec")
        body: dict[str, Any] = {} if spec is None else {"spec": dict(spec)}
        return self._table(
            "POST", "/rl/spec", body if agents is None else {**body, "agents": agents}
        )

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> int:
        """Put `levels[i]` into slot `slots[i]`; the number of levels there are."""
        data = [level_data(level) for level in levels]
        answer = self._table(
            "POST", "/rl/levels", {"slots": list(slots), "levels": data}
        )
        return int(answer["levels"])

    def reset(
        self,
        *,
        seed: int | None = None,
        level: Level | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Begin a game with one agent; `observation` and `state`."""
        body: dict[str, Any] = {
            "seed": 0 if seed is None else seed,
            "level": None if level is None else level_data(level),
        }
        if options is not None:
            body["options"] = dict(options)
        return self._table("POST", "/rl/reset", body)

    def place(
        self,
        agents: Sequence[int],
        slots: Sequence[int],
        poses: Sequence[Sequence[float]],
    ) -> dict[str, Any]:
        """Put agents at poses (x [m], y [m], yaw [rad]) in levels; their `states`."""
        rows = [[float(value) for value in pose] for pose in poses]
        body = {"agents": list(agents), "slots": list(slots), "poses": rows}
        return self._table("POST", "/rl/reset", body)

    def action(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """One step of one agent, in the published form of an action."""
        return self._table("POST", "/rl/action", dict(action))

    def step(self, actions: Sequence[Any]) -> dict[str, Any]:
        """One step of all agents: three numbers each, or an index; their `states`."""
        return self._table("POST", "/rl/step", {"actions": list(actions)})

    def observation(self, agent: int = 0) -> dict[str, Any]:
        """The published observation of one agent."""
        return self._table("GET", f"/rl/observation?agent={agent}")

    def state(self) -> dict[str, Any]:
        """The states of all agents."""
        return self._table("GET", "/rl/state")

    def show_bodies(
        self, bodies: Sequence[int], roots: ArrayLike, rotations: ArrayLike
    ) -> dict[str, Any]:
        """Show poses of human23 on the game's rigged characters; made where missing.

        Args:
            bodies: Numbers of n bodies.
            roots: World positions of the pelvis, [m]. Shape (n, 3).
            rotations: Local rotations, wxyz; the pelvis' in the world. Shape (n, 23, 4).
        """
        places = np.asarray(roots, np.float64)
        turns = np.asarray(rotations, np.float64).reshape(len(places), -1)
        rows = np.concatenate([places, turns], axis=1)
        body = {"bodies": list(bodies), "poses": rows.tolist()}
        return self._table("POST", "/body", body)

    def body(self, body: int = 0) -> dict[str, Any]:
        """Names of a body's joints and bones, and where the engine shows them, [m]."""
        return self._table("GET", f"/body?body={body}")

    def shutdown(self) -> None:
        """Ask the engine to quit."""
        self._call("POST", "/rl/shutdown", {})

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def _table(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        answer = self._call(method, path, body)
        if not isinstance(answer, dict):
            raise Malformed(f"{method} {path}: expected a JSON object")
        return answer

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            reply = self._send(method, path, body)
        except requests.Timeout:
            raise TimedOut(
                f"{method} {path}: no answer from {self.url} within {self.timeout:g} s"
            ) from None
        except (
            requests.exceptions.ChunkedEncodingError,
            requests.exceptions.ContentDecodingError,
        ) as error:
            raise Closed(f"{method} {path}: {error}") from None
        except requests.ConnectionError as error:
            kind = Refused if _refused(error) else Closed
            raise kind(f"{method} {path}: {self.url}: {error}") from None
        except (requests.RequestException, ValueError) as error:
            raise Malformed(f"{method} {path}: {error}") from None
        kind_of_body = reply.headers.get("Content-Type", "")
        return Response(reply.status_code, kind_of_body, reply.content).checked().json()

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> requests.Response:
        """One request; a GET goes again when its kept connection was closed before."""
        send = partial(
            self._session.request,
            method,
            f"{self.url}{path}",
            json=body,
            timeout=self.timeout,
            allow_redirects=False,  # the game has none, and the token is for it alone
        )
        try:
            return send()
        except requests.ConnectionError as error:
            timed_out = isinstance(error, requests.Timeout)
            if method != "GET" or timed_out or _refused(error):
                raise
        return send()


def _refused(error: BaseException | None) -> bool:
    """Whether a refused connection is at the bottom of `error`."""
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ConnectionRefusedError) or "refused" in str(error):
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False
