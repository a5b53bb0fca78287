"""The Hugging Face hub as this suite uses it; the only place that calls its client."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.commands.hub.errors import HubError, hub_errors

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MAX_LISTED = 5000
"""Most files of a repository that are looked at."""


@dataclass(frozen=True)
class Listing:
    """The files of a repository at one commit."""

    commit: str
    """The commit, which later downloads name."""
    sizes: Mapping[str, int]
    """By path, [bytes]."""


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
        from huggingface_hub.hf_api import RepoFile

        with hub_errors(repository):
            info = self._api.repo_info(repository, revision=revision)
            if not info.sha:
                return Listing("", {})
            sizes: dict[str, int] = {}
            tree = self._api.list_repo_tree(
                repository, recursive=True, revision=info.sha
            )
            for entry in tree:
                if isinstance(entry, RepoFile):
                    sizes[entry.path] = entry.size
                if len(sizes) > MAX_LISTED:
                    raise HubError(f"{repository}: more than {MAX_LISTED} files")
        return Listing(info.sha, sizes)

    def fetch(
        self, repository: str, commit: str, path: str, folder: Path, most: int
    ) -> bytes:
        """Return a file of a repository; it is kept below `folder` meanwhile.

        Raises:
            HubError: It cannot be downloaded, or is larger than `most` bytes.
        """
        what = f"{repository}/{path}"
        with hub_errors(what):
            file = Path(
                self._api.hf_hub_download(
                    repository, path, revision=commit, local_dir=folder
                )
            )
            size = file.stat().st_size
            if size > most:
                raise HubError(f"{what}: {size} bytes, at most {most} are taken")
            return file.read_bytes()

    def commit(
        self,
        repository: str,
        files: Mapping[str, bytes],
        removed: Iterable[str],
        message: str,
        parent: str,
    ) -> str:
        """Add and remove files in one commit; return the address that shows it.

        Args:
            repository: `owner/repo`.
            files: New contents by path.
            removed: Paths to remove.
            message: First line of the commit.
            parent: Commit that the repository must still be at; "" for any.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations: list[CommitOperationAdd | CommitOperationDelete] = [
            CommitOperationDelete(path) for path in removed
        ]
        operations += [CommitOperationAdd(path, data) for path, data in files.items()]
        with hub_errors(repository):
            done = self._api.create_commit(
                repository,
                operations,
                commit_message=message,
                parent_commit=parent or None,
            )
        return str(done.commit_url)
