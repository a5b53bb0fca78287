"""The command `ambulo push`: share a model on the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Sequence

from ambulo.commands.hub.card import repository_card
from ambulo.commands.hub.client import Hub, Listing
from ambulo.commands.hub.errors import HubError
from ambulo.commands.hub.manifest import (
    CARD,
    MANIFEST,
    MAX_MANIFEST,
    read_manifest,
)
from ambulo.commands.hub.share import SharedModel, share
from ambulo.common.errors import Parser, front_door
from ambulo.configs.names import MODEL

PREFIX = "ambulo-"
"""Repositories without `--to` are called this and the model's name."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo push ...`; its exit code."""
    parser = Parser(
        prog="ambulo push",
        description="Share a model on the Hugging Face hub, as safetensors and JSON with "
        "a model card, checksums and an ONNX file. Log in first: hf auth login.",
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help="name of a model, model file or run folder")
    add(
        "--to", metavar="OWNER/REPO",
        help=f"repository; made if missing (default: {PREFIX}NAME of the user)",
    )  # fmt: skip
    add("--name", help="name of the model there (default: its name or folder's name)")
    add(
        "--licence", "--license", metavar="ID",
        help="licence, such as mit or cc-by-4.0 (default: mit for shipped models, else "
        "unknown)",
    )  # fmt: skip
    add(
        "--results", metavar="FILE",
        help="JSON of `ambulo eval MODEL --json FILE` for the card (default: the newest "
        "evaluation in the run folder)",
    )  # fmt: skip
    add("--private", action="store_true", help="make a new repository private")
    add("--no-onnx", action="store_true", help="leave the ONNX file out")
    add("--verbose", action="store_true", help="tracebacks of errors")
    args = parser.parse_args(argv)
    if args.to is not None:
        _check_repository(args.to)
    hub = Hub()
    user = hub.user()
    model = share(
        args.model,
        name=args.name,
        licence=args.licence,
        results=args.results,
        onnx=not args.no_onnx,
    )
    repository = args.to or f"{user}/{PREFIX}{model.manifest.name}"
    print(push(hub, model, repository, private=args.private))
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


def _check_repository(text: str) -> None:
    """Refuse a text that is not `OWNER/REPO`."""
    owner, _, name = text.partition("/")
    if not owner or not name or "/" in name:
        raise HubError(f"--to {text}: expected OWNER/REPO")


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
    found = hub.fetch(repository, before, others, MAX_MANIFEST * len(others))
    manifests = [model.manifest]
    for path, file in found.items():
        manifests.append(read_manifest(file.read_bytes(), f"{repository}/{path}"))
    return repository_card(sorted(manifests, key=lambda m: m.name)).encode()
