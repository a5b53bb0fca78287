"""The commands `ambulo push` and `ambulo pull`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.commands.hub.errors import HubError
from ambulo.common.command_line import Arg, Command, Flags
from ambulo.common.flag_types import positional


def _repository(text: str) -> None:
    """Refuse a text that is not `OWNER/REPO`."""
    owner, _, name = text.partition("/")
    if not owner or not name or "/" in name:
        raise HubError(f"--to {text}: expected OWNER/REPO")


@dataclass(frozen=True, kw_only=True)
class PushFlags(Flags):
    """Share a model on the Hugging Face hub.

    It is shared as safetensors and JSON with a model card, checksums and an ONNX file. Log
    in first: hf auth login.
    """

    model: Annotated[str, positional("MODEL")]
    """name of a model, model file or run folder"""
    to: Annotated[str | None, Arg("OWNER/REPO"), _repository] = None
    """repository; made if missing (default: ambulo-NAME of the user)"""
    name: str | None = None
    """name of the model there (default: its name or folder's name)"""
    licence: Annotated[str | None, Arg("ID", names=("--licence", "--license"))] = None
    """licence, such as mit or cc-by-4.0 (default: mit for shipped models, else unknown)"""
    results: Annotated[str | None, Arg("FILE")] = None
    """JSON of `ambulo eval MODEL --json FILE` for the card (default: the newest evaluation in
    the run folder)"""
    private: bool = False
    """make a new repository private"""
    no_onnx: bool = False
    """leave the ONNX file out"""


@dataclass(frozen=True, kw_only=True)
class PullFlags(Flags):
    """Take a model from the Hugging Face hub.

    Every file is checked against its SHA-256, and no code is run. `ambulo models` and
    ambulo.load(NAME) find it.
    """

    source: Annotated[str, positional("OWNER/REPO[/NAME]")]
    """repository, and the model in it if it holds several"""
    name: str | None = None
    """name of the model here (default: its name there)"""
    revision: Annotated[str | None, Arg("COMMIT")] = None
    """commit, branch or tag (default: the newest commit)"""
    force: Annotated[bool, Arg(names=("--force", "--replace"))] = False
    """replace a pulled model of the same name"""


push = Command("ambulo push", PushFlags, "ambulo.commands.hub.push:run")
pull = Command("ambulo pull", PullFlags, "ambulo.commands.hub.pull:run")
