"""The Hugging Face hub as this suite uses it; the only place that calls its client."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from ambulo.commands.hub.errors import HubError, hub_errors
from ambulo.configs.json_text import json_value

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MAX_LISTED, MAX_PAGES = 5000, 100
"""Most files and folders of a repository that are looked at, and most pages of them."""
MAX_ANSWER = 2**24
"""Longest answer of the hub's API that is read, [bytes]."""

_T = TypeVar("_T")


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
        from huggingface_hub.utils import validate_repo_id

        with hub_errors(repository):
            validate_repo_id(repository)
            base = f"{self.url}/api/models/{repository}"
            at = f"/revision/{quote(revision, safe='')}" if revision else ""
            commit = _field(self._json(base + at)[0], "sha", "", repository)
            page: str | None = f"{base}/tree/{quote(commit, safe='')}?recursive=true"
            sizes: dict[str, int] = {}
            pages = entries = 0
            while page and commit:
                answer, page = self._json(page)
                if page and not page.startswith(f"{self.url.rstrip('/')}/"):
                    raise HubError(
                        f"{repository}: its next page is elsewhere: {page:.80}"
                    )
                rows: list[Any] = _field({"tree": answer}, "tree", [], repository)
                pages, entries = pages + 1, entries + len(rows)
                if entries > MAX_LISTED or pages > MAX_PAGES:
                    raise HubError(
                        f"{repository}: more than {MAX_LISTED} files and folders, or "
                        f"{MAX_PAGES} pages of them"
                    )
                for row in rows:
                    if _field(row, "type", "", repository) == "file":
                        path = _field(row, "path", "", repository)
                        sizes[path] = _field(row, "size", 0, repository)
        return Listing(commit, sizes)

    def fetch(self, repository: str, listing: Listing, path: str, most: int) -> bytes:
        """Return a file of a repository; what the hub sends beyond its size is not read.

        Raises:
            HubError: It cannot be downloaded, or is larger than `most` bytes or than
                `listing` says.
        """
        from huggingface_hub import hf_hub_url

        what = f"{repository}/{path}"
        stated = listing.sizes.get(path, 0)
        if stated > most:
            raise HubError(f"{what}: {stated} bytes, at most {most}")
        with hub_errors(what):
            url = hf_hub_url(
                repository, path, revision=listing.commit, endpoint=self.url
            )
            return self._get(url, stated, path)[0]

    def _json(self, url: str) -> tuple[Any, str | None]:
        """Return an answer of the hub's API, and the address of its next page."""
        data, page = self._get(url, MAX_ANSWER)
        return json_value(data), page

    def _get(self, url: str, most: int, label: str = "") -> tuple[bytes, str | None]:
        """Return what an address answers, and the address of its next page.

        Args:
            url: The address.
            most: Most bytes that are read.
            label: Name of the bar that shows the progress; "" for none.
        """
        from huggingface_hub import constants
        from huggingface_hub.utils import (
            build_hf_headers,
            get_session,
            hf_raise_for_status,
            tqdm,
        )

        headers = build_hf_headers(library_name="ambulo")
        limit = constants.HF_HUB_DOWNLOAD_TIMEOUT
        request = get_session().stream("GET", url, headers=headers, timeout=limit)
        bar = tqdm(
            total=most,
            unit="B",
            unit_scale=True,
            desc=label,
            disable=None if label else True,
        )
        with request as response, bar:
            if response.is_error:
                response.close()  # the headers say what is wrong, the text may be endless
            hf_raise_for_status(response)
            data = bytearray()
            for part in response.iter_bytes():
                data += part
                bar.update(len(part))
                if len(data) > most:
                    raise HubError(
                        f"{url}: sends more than the {most} bytes that it may"
                    )
            return bytes(data), response.links.get("next", {}).get("url")

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


def _field(answer: Any, key: str, default: _T, what: str) -> _T:
    """Return a field of an answer; `HubError` where it has not the type of `default`."""
    value = answer.get(key) if isinstance(answer, dict) else answer
    if value is None:
        return default
    if not isinstance(value, type(default)):
        raise HubError(f"{what}: not an answer of a hub: {key}: {value!r:.40}")
    return value
