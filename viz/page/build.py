"""Build the static page: HTML, style, one bundled script and one data file per page."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco

from ambulo.configs.atomic import replace_folder
from ambulo.viz.page.bundle import SOURCES, PageError, bundle, package_folder
from ambulo.viz.page.ik_data import ik_data
from ambulo.viz.page.navigator_data import navigator_data
from ambulo.viz.page.walker_data import muscle_data, walker_data

MARK = "page.json"
"""File that marks a folder as a page."""
MOST_BYTES = 20_000_000
"""Largest page with all loaded files, [bytes]."""

Data = dict[str, bytes]
"""Contents of a page by the names in its script."""


@dataclass(frozen=True)
class Page:
    """One page of the site."""

    name: str
    """Name of its HTML, its script and its data."""
    title: str
    """Heading, and text of links to it."""
    about: str
    """One sentence for the index."""
    data: Callable[[str], Data]
    """Makes its contents from the name of a model."""
    model: str
    """Its shipped model."""
    source: str = "player"
    """Name of its HTML source and of its script."""
    hint: str = ""
    """Sentences above the picture, if any."""


PAGES = (
    Page(
        "navigator", "Navigator", "Walks to a goal through rooms that it has never seen.",
        navigator_data, "vr_navigation",
        hint="It knows the direction of its goal and sees by 16 rays (yellow); its plan is the "
        "purple line.",
    ),
    Page(
        "walker", "Walker", "A simulated body walks, turns and stands as commanded.",
        walker_data, "walk_commands",
        hint="A simulated body of 23 joints that walks, turns, side-steps and stands as it is "
        "commanded.",
    ),
    Page(
        "muscle", "Muscle walker", "Legs that eighty muscles move.",
        muscle_data, "muscle_walk",
        hint="Eighty muscles and nothing else move these legs. Blue muscles rest, red ones "
        "are active.",
    ),
    Page(
        "ik", "Inverse kinematics", "Drag hands, feet, head and hips of a body.",
        ik_data, "ik_net", source="ik",
    ),
)  # fmt: skip
"""The pages, in the order of their links."""


@dataclass(frozen=True)
class Built:
    """Result of `build_site`."""

    folder: Path
    sizes: Mapping[str, int]
    """Bytes that each page loads, by page."""


def build_site(out: Path, names: Sequence[str] = ()) -> Built:
    """Write the pages `names` (none: all) and their index into the folder `out`.

    A failure changes nothing.

    Raises:
        PageError: npm or esbuild is missing or fails, `out` holds other files, or a page
            would be larger than `MOST_BYTES`.
    """
    check_folder(out)
    pages = [page for page in PAGES if not names or page.name in names]
    packages = package_folder()
    with replace_folder(out) as folder:
        sizes = _write(folder, pages, packages)
        (folder / MARK).write_text(json.dumps(sizes, indent=2) + "\n", encoding="utf-8")
    return Built(out, sizes)


def check_folder(out: Path) -> None:
    """Refuse a folder whose files would be lost, by `PageError`."""
    if not out.parent.is_dir():
        raise PageError(f"{out.parent}: no such folder (for {out})")
    if out.exists() and not out.is_dir():
        raise PageError(f"{out}: is a file; name a new folder")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise PageError(f"{out}: holds other files than a page; name a new folder")


def _write(folder: Path, pages: Sequence[Page], packages: Path) -> dict[str, int]:
    """Write the files of `pages`; returns the bytes that each loads."""
    shutil.copyfile(SOURCES / "style.css", folder / "style.css")
    sizes = {}
    for page in pages:
        write_data(folder / f"{page.name}.data.js", page.data(page.model))
        bundle(f"{page.source}.js", packages, folder / f"{page.name}.js")
        scripts = [f"{page.name}.data.js", f"{page.name}.js"]
        source = SOURCES / f"{page.source}.html"
        content = source.read_text(encoding="utf-8").replace("{{hint}}", page.hint)
        content = content.replace("{{model}}", page.model)
        content = content.replace("{{mujoco}}", mujoco.__version__)
        html = _filled(page.title, page.name, pages, content, scripts)
        (folder / f"{page.name}.html").write_text(html, encoding="utf-8")
        files = [f"{page.name}.html", "style.css", *scripts]
        sizes[page.name] = sum((folder / name).stat().st_size for name in files)
        if sizes[page.name] > MOST_BYTES:
            raise PageError(
                f"page {page.name}: {sizes[page.name]} bytes, at most {MOST_BYTES}"
            )
    index = (SOURCES / "index.html").read_text(encoding="utf-8")
    index = index.replace("{{cards}}", "".join(_card(page) for page in pages))
    html = _filled("Ambulo in the browser", "index", pages, index, [])
    (folder / "index.html").write_text(html, encoding="utf-8")
    return sizes


def write_data(file: Path, data: Data) -> None:
    """Write `data` as a classic script, each entry as base64 of a gzip stream."""
    packed = {
        name: base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
        for name, content in data.items()
    }
    text = json.dumps(packed, separators=(",", ":"))
    file.write_text(
        f"globalThis.AMBULO_DATA=Object.assign(globalThis.AMBULO_DATA||{{}},{text});\n",
        encoding="utf-8",
    )


def _card(page: Page) -> str:
    return f'<li><h2><a href="{page.name}.html">{page.title}</a></h2><p>{page.about}</p></li>'


def _filled(
    title: str, name: str, pages: Sequence[Page], content: str, scripts: Sequence[str]
) -> str:
    """Return the HTML of one page."""
    rows = [("index", "All"), *((page.name, page.title) for page in pages)]
    links = "".join(
        f'<li><a href="{other}.html"{" aria-current=page" * (other == name)}>{text}</a></li>'
        for other, text in rows
    )
    tags = "\n".join(f'<script src="{script}"></script>' for script in scripts)
    values = {"title": title, "links": links, "content": content, "scripts": tags}
    html = (SOURCES / "layout.html").read_text(encoding="utf-8")
    for key, value in values.items():
        html = html.replace(f"{{{{{key}}}}}", value)
    return html
