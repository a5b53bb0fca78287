"""Is there an engine, before the slow work begins?"""

from __future__ import annotations

from ambulo.configs.errors import BridgeError
from ambulo.configs.vr import NavigationEnvironmentConfig
from ambulo.envs.godot.errors import BridgeFault
from ambulo.envs.godot.locate import (
    check_scene,
    check_version,
    find_engine,
    find_project,
)
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.transport import HttpConnection, address_of


def check_engines(config: NavigationEnvironmentConfig) -> None:
    """Look for engine and project, or ask the running game; other worlds need neither.

    Raises:
        BridgeError: they are not there, too old, or do not answer.
        ConfigError: the URL is none, or the token would leave this machine.
    """
    if config.world != "godot":
        return
    settings = BridgeSettings.from_config(config)
    if settings.url is None:
        project = find_project(settings.project)
        if settings.scene is not None:
            check_scene(project, settings.scene)
        check_version(find_engine(settings.binary))
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
