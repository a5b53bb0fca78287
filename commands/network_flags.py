"""Flags of servers and clients of streams: the shared secret, and where to listen."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg
from ambulo.common.flag_types import Count, LogFlags, Positive
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError
from ambulo.configs.reading import read_regular

SECRET_VARIABLE = "AMBULO_RIG_SECRET"
"""Environment variable with the shared secret."""
MAX_SECRET = 4096
"""Longest file with a secret, [bytes]."""


@dataclass(frozen=True, kw_only=True)
class SecretFlags(LogFlags):
    """The secret that server and clients share."""

    secret_file: Annotated[str | None, Arg("FILE")] = None
    """shared secret (or AMBULO_RIG_SECRET); a server with one takes signed messages alone
    (WebSockets: 'Authorization: Bearer SECRET')"""

    def secret(self) -> bytes:
        """Return the shared secret of the file or the environment; empty without one.

        Raises:
            ConfigError: It is too short, or its file cannot be read.
        """
        if self.secret_file is None:
            source, secret = (
                SECRET_VARIABLE,
                os.environ.get(SECRET_VARIABLE, "").encode(),
            )
            if not secret:
                return b""
        else:
            file = resolve_path(self.secret_file)
            source, secret = self.secret_file, read_regular(file, MAX_SECRET).strip()
        if len(secret) < 8:
            raise ConfigError(f"{source}: a secret has at least 8 bytes")
        return secret


@dataclass(frozen=True, kw_only=True)
class ServerFlags(SecretFlags):
    """Address, limits and duration of a server of streams."""

    bind: Annotated[str, Arg("ADDRESS")] = "127.0.0.1"
    """address to listen on"""
    max_clients: Count = 32
    """most clients at once"""
    idle: Annotated[Positive, Arg("S")] = 60.0
    """time after which a silent client is forgotten"""
    seconds: Annotated[Positive | None, Arg("S")] = None
    """stop after S seconds (default: never)"""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches the address."""
        try:
            return ipaddress.ip_address(self.bind).is_loopback
        except ValueError:
            return self.bind == "localhost"
