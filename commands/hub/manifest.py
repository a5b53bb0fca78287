"""Manifest of one model in a repository: `NAME/manifest.json`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ambulo.commands.hub.errors import HubError
from ambulo.configs.base import Config, parse
from ambulo.configs.json_text import json_value
from ambulo.configs.names import MODEL
from ambulo.policies.files.plain_files import PLAIN_ENDINGS

MANIFEST, CARD = "manifest.json", "README.md"
"""Files beside those that a manifest lists."""
FORMAT, VERSION = "ambulo-hub-model", 1
ONNX = ".onnx"
ENDINGS = (*PLAIN_ENDINGS, ONNX, ".md")
"""How the files of a model in a repository end; no other file is taken."""
MAX_MANIFEST = 2**20
"""Longest manifest, [bytes]."""
MAX_FILES = 200
"""Most files of a model."""
MAX_FILE, MAX_MODEL = 2**29, 2**30
"""Largest file and largest model that is pulled, [bytes]."""
_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*(/[A-Za-z0-9][A-Za-z0-9_.+-]*)*")
_CONTRACT_FIELDS = (
    "kind", "format", "contract", "observation", "observation_size", "observation_scales",
    "action", "actions", "rig", "skeleton", "character", "state_size", "space", "modes",
    "features", "past",
)  # fmt: skip
"""Fields of headers that say what goes into a model and what comes out."""
_CONTRACT_SETTINGS = ("environment", "actions", "observations")
"""The same among the groups of a header's `config`."""


def _valid_path(path: str) -> str:
    """Return the path of a file of a model if it is one that may be there."""
    if not path.endswith(ENDINGS):
        raise ValueError(f"expected a file of {', '.join(ENDINGS)}")
    if len(path) > 300 or not _PATH.fullmatch(path):
        raise ValueError("expected a relative path of plain letters")
    return path


Text = Annotated[str, Field(max_length=2000)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class FileEntry(Config):
    """One file of a model."""

    path: Annotated[str, AfterValidator(_valid_path)]
    """Relative to the folder of the model."""
    size: Annotated[int, Field(ge=0, le=MAX_FILE)]
    """[bytes]."""
    sha256: Sha256
    """Checksum, in hexadecimal."""


class Score(Config):
    """One number of one agent."""

    value: float | None
    """None where it is not defined."""
    low: float | None = None
    """Lower end of the 95 % interval."""
    high: float | None = None
    """Upper end of the 95 % interval."""
    unit: Annotated[str, Field(max_length=40)] = "1"
    """Unit of all three."""


class Results(Config):
    """Results of an evaluation (`ambulo eval`)."""

    evaluated: Text
    """Levels, clips or gaits of the evaluation."""
    command: Text
    """Command line."""
    episodes: int
    """Episodes, windows, poses or gaits of each agent."""
    seed: int
    """Seed of everything random."""
    agents: dict[str, dict[str, Score]]
    """Scores by agent, then by metric: the model is `policy`, the others are baselines."""


class Manifest(Config):
    """A model in a repository: what it is, and the checksum of each of its files."""

    format: Literal["ambulo-hub-model"] = "ambulo-hub-model"
    """Names this format."""
    version: Annotated[int, Field(ge=1, le=VERSION)] = VERSION
    """Version of the format."""
    name: Annotated[str, AfterValidator(MODEL.checked)]
    """Name of the model, and of its folder."""
    kind: Text
    """Kind of model (see `policies/kinds`)."""
    summary: Text
    """Purpose of models of this kind."""
    headline: Text
    """One line on this model."""
    licence: Text
    """SPDX identifier in lower case, as the hub knows it, or `unknown`."""
    contract: Sha256
    """`contract_hash` of its header: what goes in and what comes out."""
    commit: Text
    """Commit of the code that trained or shared it; empty where it is not known."""
    ambulo: Text
    """Version of Ambulo that shared it."""
    created: Text
    """ISO time of the training's end, from the header; empty where it is not known."""
    training: Text
    """Command line of the training, from the header."""
    results: Results | None = None
    """Results of an evaluation; None without one."""
    onnx: Text
    """The ONNX file beside it, or why there is none."""
    main: Annotated[str, Field(max_length=200)]
    """Name of the model's main file once it is pulled."""
    files: Annotated[tuple[FileEntry, ...], Field(min_length=1, max_length=MAX_FILES)]
    """All files of the model besides this one and the card."""

    def plain_paths(self) -> list[str]:
        """Return the paths of the files that the model is packed from."""
        return [
            entry.path for entry in self.files if entry.path.endswith(PLAIN_ENDINGS)
        ]


def read_manifest(data: bytes, source: str) -> Manifest:
    """Return a manifest from untrusted bytes, checked.

    Raises:
        HubError: Damaged, newer, too large in sum, or with a file of another kind.
    """
    try:
        raw = json_value(data)
    except ValueError as error:
        raise HubError(f"{source}: not valid JSON: {error}") from None
    version = raw.get("version") if isinstance(raw, dict) else None
    if type(version) is int and version > VERSION:
        raise HubError(
            f"{source}: version {version} is newer than {VERSION}; upgrade ambulo"
        )
    manifest = parse(Manifest, raw, source, HubError)
    paths = [entry.path for entry in manifest.files]
    if len({path.lower() for path in paths}) != len(paths):
        raise HubError(f"{source}: a file occurs twice")
    total = sum(entry.size for entry in manifest.files)
    if total > MAX_MODEL:
        raise HubError(f"{source}: {total} bytes in all, at most {MAX_MODEL}")
    return manifest


def entry_of(path: str, data: bytes) -> FileEntry:
    """Return the entry of a file of these bytes.

    Raises:
        HubError: A file that would be refused.
    """
    raw = {"path": path, "size": len(data), "sha256": sha256_of(data)}
    return parse(FileEntry, raw, path, HubError)


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def contract_hash(header: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a raw header says of a model's inputs and outputs.

    Two models of the same hash can be exchanged for each other; training settings, weights
    and provenance do not count.
    """
    contract = {key: header[key] for key in _CONTRACT_FIELDS if key in header}
    config = header.get("config")
    if isinstance(config, Mapping):
        for key in _CONTRACT_SETTINGS:
            if key in config:
                contract[f"config.{key}"] = config[key]
    text = json.dumps(contract, sort_keys=True, separators=(",", ":"))
    return sha256_of(text.encode())
