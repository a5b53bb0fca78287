"""A model as the files of its folder in a repository."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ambulo
import ambulo.shipped
from ambulo.commands.hub.card import model_card
from ambulo.commands.hub.errors import HubError
from ambulo.commands.hub.flags import PushFlags
from ambulo.commands.hub.manifest import (
    CARD,
    MANIFEST,
    MAX_MANIFEST,
    MAX_MODEL,
    ONNX,
    Manifest,
    Results,
    contract_hash,
    entry_of,
)
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder, git_state
from ambulo.configs.base import parse, read_json
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.names import MODEL
from ambulo.configs.reading import MOST_TEXT, read_regular_text
from ambulo.policies.files.plain_files import plain_files
from ambulo.policies.files.raw_headers import SB3_ZIP, raw_header
from ambulo.policies.files.spec import ModelSpec
from ambulo.policies.registry import export_model, load_file, spec_of

SHIPPED_LICENCE, UNKNOWN_LICENCE = "mit", "unknown"
"""Licence of the shipped models, and of others unless the caller names one."""
EVALUATION = "evaluation.json"
"""Result of `ambulo eval` in the folder of its report."""
_EVALUATION_FORMAT = "ambulo-evaluation"


@dataclass(frozen=True)
class SharedModel:
    """The files of a model in a repository."""

    manifest: Manifest
    """Its manifest, with the checksums."""
    files: Mapping[str, bytes]
    """Contents by path below the folder of the model, with the manifest and the card."""


def share(flags: PushFlags) -> SharedModel:
    """Return the files that share a model.

    Raises:
        HubError: A name, licence or results that cannot be used.
        ModelFileError: No such model, a damaged one, or one that would run code.
        MissingPackageError: ONNX needs packages that are not installed.
    """
    text = flags.model
    file = find_model(text)
    shipped = ambulo.shipped.shipped_models().get(text) == file
    name = _name(flags.name or (text if shipped else resolve_path(text).stem))
    licence = _licence(flags.licence, shipped)
    spec = spec_of(file)
    if SB3_ZIP in spec.formats and raw_header(file)[0].get("format") == SB3_ZIP:
        raise ModelFileError(
            f"{file}: a Stable-Baselines3 zip holds pickled code, which is not shared"
        )
    main = name + file.suffix if file.suffix in (".zip", ".npz") else file.name
    files = {
        _renamed(path, file.name, main): data
        for path, data in plain_files(file).items()
    }
    note = "not written (--no-onnx)"
    if not flags.no_onnx:
        note = _add_onnx(files, file, name, spec)
    if sum(map(len, files.values())) > MAX_MODEL:
        raise HubError(f"{file}: more than {MAX_MODEL} bytes, the most that is pulled")
    raw, source = raw_header(file)
    manifest = Manifest(
        name=name,
        kind=spec.kind,
        summary=spec.summary,
        headline=spec.headline(spec.parse(raw, source)),
        licence=licence,
        contract=contract_hash(raw),
        commit=_commit(file),
        ambulo=ambulo.__version__,
        created=_text_of(raw, "created"),
        training=_text_of(raw, "command")[:2000],
        results=_results(flags.results, file),
        onnx=note,
        main=main,
        files=tuple(entry_of(path, data) for path, data in files.items()),
    )
    text_of_card = model_card(manifest, _words(file)).encode()
    description = manifest.to_json().encode()
    if len(description) > MAX_MANIFEST:
        raise HubError(f"{file}: its results are too long for {MANIFEST}")
    return SharedModel(manifest, files | {CARD: text_of_card, MANIFEST: description})


def _name(name: str) -> str:
    """Return a name that can be used; `HubError` otherwise."""
    try:
        return MODEL.checked(name)
    except ValueError as error:
        raise HubError(
            f"{name!r}: not a name of a model: {error}; see --name"
        ) from None


def _renamed(path: str, old: str, new: str) -> str:
    """Return a plain path with another name of the main file."""
    return new + path.removeprefix(old) if path.startswith(old) else path


def _licence(named: str | None, shipped: bool) -> str:
    """Return the licence of a model; `HubError` for what is no identifier."""
    licence = named or (SHIPPED_LICENCE if shipped else UNKNOWN_LICENCE)
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,63}", licence):
        raise HubError(
            f"--licence {licence}: expected an identifier such as mit or cc-by-4.0"
        )
    return licence


def _text_of(raw: Mapping[str, Any], key: str) -> str:
    """Return a text of a raw header; "" without one."""
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _commit(file: Path) -> str:
    """Return the commit of the run that trained a model, else of this checkout."""
    run = RunFolder.around(file)
    state: Any = None
    if run is not None and run.run.is_file():
        try:
            state = read_json(run.run).get("git")
        except (ConfigError, AttributeError):
            state = None
    state = state or git_state()
    commit = state.get("commit") if isinstance(state, dict) else None
    if not isinstance(commit, str):
        return ""
    return commit + (" with changes" if state.get("dirty") else "")


def _results(named: str | None, file: Path) -> Results | None:
    """Return the results that were named, or the newest of the model's run folder."""
    if named is not None:
        return _read_results(resolve_path(named))
    run = RunFolder.around(file)
    if run is None:
        return None
    result = [path for path in run.path.glob(f"*/{EVALUATION}") if path.is_file()]
    if not result:
        return None
    return _read_results(max(result, key=lambda path: path.stat().st_mtime))


def _read_results(path: Path) -> Results:
    """Return the results in a file of `ambulo eval --json`."""
    raw = read_json(path, MOST_TEXT, error_class=HubError)
    if not isinstance(raw, dict) or raw.get("format") != _EVALUATION_FORMAT:
        raise HubError(f"{path}: not the JSON of `ambulo eval`")
    fields = ("evaluated", "command", "episodes", "seed", "agents")
    return parse(Results, {key: raw.get(key) for key in fields}, str(path), HubError)


def _add_onnx(
    files: dict[str, bytes], file: Path, name: str, spec: ModelSpec[Any]
) -> str:
    """Add the ONNX file of a model; return what the manifest says of it."""
    if "onnx" not in spec.targets:
        return f"models of the kind {spec.kind} cannot be exported as ONNX"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, name + ONNX)
        written = export_model(spec, "onnx", load_file(file), out)
        for path in written.files:
            if path.suffix in (ONNX, ".json"):
                files[path.name] = path.read_bytes()
    left_out = "; ".join(written.left_out)
    return out.name + (f" (not in the file: {left_out})" if left_out else "")


def _words(file: Path) -> str:
    """Return the text of the README.md beside a model's main file; "" without one."""
    readme = file.with_name(CARD)
    return read_regular_text(readme) if readme.is_file() else ""
