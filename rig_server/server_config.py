"""How a rig server treats its clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ambulo.rig_server.answer_gate import Thresholds


@dataclass(frozen=True)
class ServerConfig:
    """How a server treats its clients."""

    models: Path | None = None
    """Folder of learned rigs; None: nothing is kept."""
    secret: bytes = b""
    """Shared secret; with one, only signed datagrams of version 2 are taken."""
    version_1: bool = True
    """Whether version 1 is spoken (never where a secret is set)."""
    max_clients: int = 32
    idle_seconds: float = 60.0
    """Silence after which a client is forgotten (its model is kept on disk), [s]."""
    save_seconds: float = 20.0
    """Time between two savings of a model that has changed, [s]."""
    max_models: int = 256
    """Most learned rigs in the folder; those that were unused longest go first."""
    max_model_bytes: int = 2**30
    """Most bytes of them together."""
    sequences: bool = True
    """Whether free runs are learned too."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    """When answers start."""
