"""Where the engines of a `GodotWorld` come from, and how patient it is with them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ambulo.configs.errors import BridgeError
from ambulo.configs.vr import NavigationEnvironmentConfig
from ambulo.envs.godot.errors import BridgeFault
from ambulo.envs.godot.locate import (
    JOLT,
    check_scene,
    check_version,
    find_engine,
    find_project,
    is_program,
)
from ambulo.envs.godot.transport import HttpConnection, address_of


def environment_token() -> str | None:
    """The bearer token in `AMBULO_TOKEN`, which engines that we start take too."""
    return os.environ.get("AMBULO_TOKEN") or None


@dataclass(frozen=True)
class BridgeSettings:
    """Engines that are started, or one that is attached to."""

    url: str | None = None
    """Address of a running engine, such as http://127.0.0.1:8080; it is never ended."""
    binary: str | None = None
    """Godot program; see `find_engine` for None."""
    project: str | None = None
    """Folder of our Godot project; see `find_project` for None."""
    scene: str | None = None
    """Scene of the project to play in ("res://..."); None: levels."""
    engines: int = 1
    """Engine processes that share the envs."""
    timeout: float = 30.0
    """From a request to its whole answer, [s]."""
    max_failures: int = 6
    """After this many faults of one engine in a row, without a decision between them (a game:
    with fewer than `agents.link.STEADY` steps), it is given up."""
    log_folder: Path | None = None
    """Folder of the engines' logs; None: a temporary one, kept if there were faults."""
    token: str | None = field(default_factory=environment_token)
    """Bearer token of the engine; `AMBULO_TOKEN` of the process unless given."""

    @classmethod
    def from_config(
        cls, config: NavigationEnvironmentConfig, log_folder: Path | None = None
    ) -> BridgeSettings:
        """Return the settings in `environment`."""
        return cls(
            url=config.godot_url,
            binary=config.godot_bin,
            project=config.godot_project,
            scene=config.scene,
            engines=config.godot_engines,
            timeout=config.godot_timeout,
            max_failures=config.godot_max_failures,
            log_folder=log_folder,
        )

    def check_project(self, *, physics: str = "") -> None:
        """Look for project, scene and engine, where engines are started.

        Args:
            physics: Engine of 3D physics that a project with a scene must name; "": any.

        Raises:
            BridgeError: They are not there, or too old.
        """
        if self.url is not None:
            return
        project = find_project(self.project)
        if self.scene is not None:
            check_scene(project, self.scene, physics=physics)
        if not is_program(project):
            check_version(find_engine(self.binary))


def check_engines(config: NavigationEnvironmentConfig) -> None:
    """Look for engine and project, or ask the running game; other worlds need neither.

    Raises:
        BridgeError: they are not there, too old, or do not answer.
        ConfigError: the URL is none, or the token would leave this machine.
    """
    if config.world != "godot":
        return
    settings = BridgeSettings.from_config(config)
    settings.check_project(physics=JOLT)
    if settings.url is None:
        return
    host, port = address_of(settings.url)
    try:
        connection = HttpConnection(
            host, port, timeout=settings.timeout, token=settings.token
        )
        connection.request("GET", "/rl/spec").checked()
        connection.close()
    except BridgeFault as fault:
        raise BridgeError(f"Godot at http://{host}:{port}: {fault}") from None
