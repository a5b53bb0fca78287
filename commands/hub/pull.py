"""The command `ambulo pull`: take a model from the Hugging Face hub."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import ambulo.shipped
from ambulo.commands.hub.client import Hub, Listing
from ambulo.commands.hub.errors import HubError
from ambulo.commands.hub.flags import PullFlags
from ambulo.commands.hub.manifest import (
    CARD,
    MANIFEST,
    MAX_MANIFEST,
    MAX_MODEL,
    FileEntry,
    Manifest,
    contract_hash,
    read_manifest,
    sha256_of,
)
from ambulo.common.files import write_bytes
from ambulo.common.signals import leaving_cleanly
from ambulo.configs.atomic import replace_folder
from ambulo.configs.errors import nearest
from ambulo.configs.names import MODEL
from ambulo.policies.files.plain_files import packed_files
from ambulo.policies.files.raw_headers import raw_header
from ambulo.policies.registry import read_header, spec_of

SOURCE = "source.json"
"""File in the folder of a pulled model that says where it comes from."""


def run(flags: PullFlags) -> int:
    """Take a model."""
    with leaving_cleanly():
        pulled = pull(Hub(), flags)
    print(f"{pulled.name}: {pulled}")
    return 0


def pull(hub: Hub, flags: PullFlags) -> Path:
    """Take a model from a repository; return its new folder.

    The folder appears whole or not at all, after every checksum, the model's header and
    its contract have been checked.

    Raises:
        HubError: No such model, a file of another kind, size or checksum, a name that is
            taken, or a failure of the network.
        ModelFileError: What arrived is no model.
    """
    repository, given = _parts(flags.source)
    listing = hub.listing(repository, flags.revision)
    name = _chosen(listing, repository, given)
    target = _target(flags.name or name, flags.force)
    source = _Source(hub, repository, listing, name)
    manifest = source.manifest()
    contents = source.contents(manifest)
    with replace_folder(target) as made:
        for file, data in contents.items():
            write_bytes(made / file, data)
        _check_model(made, manifest, f"{repository}/{name}")
    return target


@dataclass(frozen=True)
class _Source:
    """A model in a repository."""

    hub: Hub
    repository: str
    listing: Listing
    name: str

    def manifest(self) -> Manifest:
        """Return the manifest, checked against the files that are there."""
        [file] = self._fetch([MANIFEST], MAX_MANIFEST)
        manifest = read_manifest(file.read_bytes(), self._where(MANIFEST))
        if manifest.name != self.name:
            raise HubError(
                f"{self._where(MANIFEST)}: is of {manifest.name!r}, not of {self.name!r}"
            )
        listed = {entry.path: entry.size for entry in manifest.files}
        prefix = f"{self.name}/"
        there = {
            path.removeprefix(prefix): size
            for path, size in self.listing.sizes.items()
            if path.startswith(prefix)
        }
        for path in there.keys() - listed.keys() - {MANIFEST, CARD}:
            raise HubError(f"{self._where(path)}: not listed in {MANIFEST}: refused")
        for path, size in listed.items():
            if path not in there:
                raise HubError(f"{self._where(path)}: is missing")
            if there[path] != size:
                raise HubError(
                    f"{self._where(path)}: {there[path]} bytes, {MANIFEST} says {size}"
                )
        return manifest

    def contents(self, manifest: Manifest) -> dict[str, bytes]:
        """Return the files of the model's new folder, every checksum checked."""
        files = self._fetch([entry.path for entry in manifest.files], MAX_MODEL)
        arrived = {
            entry.path: self._checked(entry, file)
            for entry, file in zip(manifest.files, files, strict=True)
        }
        plain = manifest.plain_paths()
        model = packed_files(
            {path: arrived[path] for path in plain}, f"{self.repository}/{self.name}"
        )
        rest = {path: data for path, data in arrived.items() if path not in plain}
        contents = model | rest
        for path in contents:
            if PurePosixPath(path).name != path:
                raise HubError(f"{self._where(path)}: a folder in a model: refused")
        if manifest.main not in model:
            raise HubError(f"{self._where(manifest.main)}: the main file is missing")
        origin = {
            "repository": self.repository,
            "name": self.name,
            "commit": self.listing.commit,
            "hub": self.hub.url,
        }
        contents[MANIFEST] = manifest.to_json().encode()
        contents[SOURCE] = (json.dumps(origin, indent=2) + "\n").encode()
        return contents

    def _checked(self, entry: FileEntry, file: Path) -> bytes:
        """Return a file if its checksum is that of the manifest, else forget it."""
        data = file.read_bytes()
        if len(data) != entry.size or sha256_of(data) != entry.sha256:
            file.resolve().unlink()  # so that the next pull does not find it in the cache
            raise HubError(
                f"{self._where(entry.path)}: the checksum is not that of {MANIFEST}: the "
                "file is damaged or was changed"
            )
        return data

    def _fetch(self, paths: Sequence[str], most: int) -> list[Path]:
        """Return files of the model's folder, of at most `most` bytes."""
        full = [f"{self.name}/{path}" for path in paths]
        result = self.hub.fetch(self.repository, self.listing, full, most)
        return [result[path] for path in full]

    def _where(self, path: str) -> str:
        return f"{self.repository}/{self.name}/{path}"


def _parts(text: str) -> tuple[str, str | None]:
    """Return repository and name of `OWNER/REPO[/NAME]`."""
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise HubError(f"{text!r}: expected OWNER/REPO or OWNER/REPO/NAME")
    return "/".join(parts[:2]), parts[2] if len(parts) == 3 else None


def _chosen(listing: Listing, repository: str, name: str | None) -> str:
    """Return the name of the model that is meant among those of a repository."""
    names = [
        path.removesuffix(f"/{MANIFEST}")
        for path in listing.sizes
        if path.endswith(f"/{MANIFEST}")
        and MODEL.allows(path.removesuffix(f"/{MANIFEST}"))
    ]
    if not names:
        raise HubError(f"{repository}: holds no model of Ambulo (no NAME/{MANIFEST})")
    if name is None and len(names) > 1:
        raise HubError(
            f"{repository}: holds several models; name one: {', '.join(sorted(names))}"
        )
    chosen = names[0] if name is None else name
    if chosen not in names:
        raise HubError(f"{repository}: no model {chosen!r}{nearest(chosen, names)}")
    return chosen


def _target(name: str, replace: bool) -> Path:
    """Return the new folder of a model; `HubError` for a name that is bad or taken."""
    try:
        MODEL.checked(name)
    except ValueError as error:
        raise HubError(f"{name!r}: not a name of a model: {error}") from None
    if name in ambulo.shipped.shipped_models() or name in ambulo.shipped.ELSEWHERE:
        raise HubError(
            f"{name}: a shipped model has this name; choose another with --name"
        )
    target = ambulo.shipped.pulled_folder() / name
    if target.exists() and not replace:
        raise HubError(f"{target}: exists; --force replaces it, --name chooses another")
    return target


def _check_model(folder: Path, manifest: Manifest, source: str) -> None:
    """Refuse a folder whose model is not the one that its manifest describes."""
    file = folder / manifest.main
    if ambulo.shipped.main_file(folder) != file:
        raise HubError(f"{source}: {manifest.main} is not the main file of a model")
    spec = spec_of(file)
    read_header(file)
    if not spec.is_named(manifest.kind):
        raise HubError(f"{source}: is a {spec.kind}, {MANIFEST} says {manifest.kind}")
    if contract_hash(raw_header(file)[0]) != manifest.contract:
        raise HubError(
            f"{source}: its contract (inputs and outputs) is not that of {MANIFEST}"
        )
