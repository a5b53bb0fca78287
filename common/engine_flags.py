"""The flags `--engine`, `--workers` and `--address` of all commands that share work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ambulo.common.command_line import Arg, Flags
from ambulo.common.flag_types import within
from ambulo.configs.errors import ConfigError

MOST_WORKERS = 4096


@dataclass(frozen=True, kw_only=True)
class EngineFlags(Flags):
    """Where work is done."""

    engine: Literal["local", "ray", "process"] = "local"
    """where work is done: local (this machine; process is another word for it), or ray (the
    nodes of a Ray cluster)"""
    address: Annotated[str | None, Arg("HOST:PORT")] = None
    """head node of the Ray cluster (default: RAY_ADDRESS, else this machine)"""

    def __post_init__(self) -> None:
        """Refuse flags that need another one."""
        super().__post_init__()
        if self.address is not None and not self.on_cluster:
            raise ConfigError("--address needs --engine ray")

    @property
    def on_cluster(self) -> bool:
        """Whether the nodes of a cluster do the work."""
        return self.engine == "ray"


@dataclass(frozen=True, kw_only=True)
class WorkerFlags(EngineFlags):
    """Where work is done, and by how many workers."""

    workers: Annotated[int | None, within(1, MOST_WORKERS)] = None
    """how many workers (default: this process alone; with ray, one for each CPU of the
    cluster)"""
