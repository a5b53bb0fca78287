"""The Hugging Face hub as this suite uses it; the only place that calls its client."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ambulo.commands.hub.errors import HubError, hub_errors
from ambulo.common.files import write_bytes

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MAX_LISTED = 5000
"""Most files of a repository."""


@dataclass(frozen=True)
class Listing:
    """The files of a repository at one commit."""

    commit: str
    """The commit, which later downloads name."""
    sizes: Mapping[str, int]
    """Sizes by path, [bytes]."""


class Hub:
    """The hub that `HF_ENDPOINT` names, with the login of `hf auth login` or `HF_TOKEN`."""

    def __init__(self, endpoint: str | None = None) -> None:
        """Make the client; nothing is sent.

        Args:
            endpoint: Address of another hub than that of `HF_ENDPOINT`.

        Raises:
            ImportError: huggingface-hub is not installed.
        """
        from huggingface_hub import HfApi
        from huggingface_hub.utils import disable_progress_bars

        if not sys.stderr.isatty():
            disable_progress_bars()
        self._api: HfApi = HfApi(
            endpoint or os.environ.get("HF_ENDPOINT") or None, library_name="ambulo"
        )
        self.url: str = self._api.endpoint
        """Address of the hub."""

    def user(self) -> str:
        """Return the name of the user who is logged in; `HubError` without a login."""
        with hub_errors(self.url):
            name: str = self._api.whoami()["name"]
        return name

    def create(self, repository: str, *, private: bool) -> None:
        """Create a repository of models unless it exists."""
        with hub_errors(repository):
            self._api.create_repo(repository, private=private, exist_ok=True)

    def listing(self, repository: str, revision: str | None = None) -> Listing:
        """Return the files of a repository at a revision, its newest if left out."""
        with hub_errors(repository):
            info = self._api.model_info(
                repository, revision=revision, files_metadata=True
            )
            sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
            if len(sizes) > MAX_LISTED:
                raise HubError(f"{repository}: more than {MAX_LISTED} files")
            typed = all(type(k) is str and type(v) is int for k, v in sizes.items())
            if not typed or not re.fullmatch("[0-9a-f]{40}", info.sha):
                raise TypeError
        return Listing(info.sha, sizes)

    def fetch(
        self, repository: str, listing: Listing, paths: Collection[str], most: int
    ) -> dict[str, Path]:
        """Return files of a repository in the hub's cache on this machine, by path.

        An interrupted download is continued, and what is in the cache is not sent again.

        Raises:
            HubError: They cannot be downloaded, or have more than `most` bytes or than
                `listing` says.
        """
        stated = sum(listing.sizes.get(path, 0) for path in paths)
        if stated > most:
            raise HubError(f"{repository}: {stated} bytes, at most {most}")
        with hub_errors(repository):
            folder = self._api.snapshot_download(
                repository, revision=listing.commit, allow_patterns=[*paths],
                tqdm_class=_bar_of(repository, stated),
            )  # fmt: skip
        return {path: Path(folder, path) for path in paths}

    def upload(
        self,
        repository: str,
        files: Mapping[str, bytes],
        name: str,
        parent: str,
    ) -> str:
        """Put a model into a repository in one commit; return the address that shows it.

        Args:
            repository: `owner/repo`.
            files: New contents by path.
            name: Folder of the model, whose other files are removed.
            parent: Commit that the repository must still be at; "" for any.
        """
        with hub_errors(repository), tempfile.TemporaryDirectory() as folder:
            for path, data in files.items():
                file = Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(file, data)
            done = self._api.upload_folder(
                repo_id=repository, folder_path=folder, delete_patterns=f"{name}/*",
                commit_message=f"Add {name}", parent_commit=parent or None,
            )  # fmt: skip
        return str(done.commit_url)


def _bar_of(repository: str, stated: int) -> Any:
    """Return the class of a progress bar that stops a download of more bytes than stated."""
    from huggingface_hub.utils import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        arrived = 0.0

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.counts_bytes = kwargs.get("unit") == "B"
            super().__init__(*args, **kwargs)

        def update(self, n: float | None = 1) -> bool | None:
            self.arrived += n or 0
            if self.counts_bytes and self.arrived > stated:
                raise HubError(
                    f"{repository}: sends more than the {stated} bytes that it may"
                )
            return super().update(n)

    return Bar
