"""The command `ambulo push`: share a model on the Hugging Face hub."""

from __future__ import annotations

from ambulo.commands.hub.card import repository_card
from ambulo.commands.hub.client import Hub, Listing
from ambulo.commands.hub.flags import PushFlags
from ambulo.commands.hub.manifest import (
    CARD,
    MANIFEST,
    MAX_MANIFEST,
    read_manifest,
)
from ambulo.commands.hub.share import SharedModel, share
from ambulo.configs.names import MODEL

PREFIX = "ambulo-"
"""Repositories without `--to` are called this and the model's name."""


def run(flags: PushFlags) -> int:
    """Share a model."""
    hub = Hub()
    user = hub.user()
    model = share(flags)
    repository = flags.to or f"{user}/{PREFIX}{model.manifest.name}"
    print(push(hub, model, repository, private=flags.private))
    return 0


def push(
    hub: Hub, model: SharedModel, repository: str, *, private: bool = False
) -> str:
    """Put a model into a repository, in one commit; return the address that shows it.

    Files of an earlier version of the model are removed; other models stay.

    Raises:
        HubError: No login, no right to write, or the repository changed meanwhile.
    """
    name = model.manifest.name
    hub.create(repository, private=private)
    before = hub.listing(repository)
    files = {f"{name}/{path}": data for path, data in model.files.items()}
    files[CARD] = _front_card(hub, repository, before, model)
    return hub.upload(repository, files, name, before.commit)


def _front_card(
    hub: Hub, repository: str, before: Listing, model: SharedModel
) -> bytes:
    """Return the card of a repository after a model was added to it."""
    ending = f"/{MANIFEST}"
    others = [
        path
        for path in before.sizes
        if path.endswith(ending)
        and MODEL.allows(path.removesuffix(ending))
        and path != f"{model.manifest.name}{ending}"
    ]
    if not others:
        return model.files[CARD]
    result = hub.fetch(repository, before, others, MAX_MANIFEST * len(others))
    manifests = [model.manifest]
    for path, file in result.items():
        manifests.append(read_manifest(file.read_bytes(), f"{repository}/{path}"))
    return repository_card(sorted(manifests, key=lambda m: m.name)).encode()
