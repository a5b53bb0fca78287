"""The site's menu and its configuration file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

HEAD = re.compile(r"^# (.+)$", re.MULTILINE)
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([\w-]+\.md)")


def write_config(root: Path, sources: Path) -> Path:
    """Write the site's mkdocs.yml, with the menu, beside `sources`; return its path."""
    config = yaml.safe_load((root / "mkdocs.yml").read_text(encoding="utf-8"))
    config["nav"] = navigation(sources)
    config["docs_dir"], config["site_dir"] = sources.name, "site"
    path = sources.parent / "mkdocs.yml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def navigation(sources: Path) -> list[dict[str, Any]]:
    """Return the menu: guides by reader as index.md lists them, then generated pages.

    Raises:
        ValueError: a guide is not listed in index.md.
    """
    index = (sources / "index.md").read_text(encoding="utf-8")
    parts = SECTION.split(index)
    listed: set[str] = {"index.md"}
    first = _new(LINK.findall(parts[0]), listed)
    menu: list[dict[str, Any]] = [
        {"Start": ["index.md", *(_entry(sources, page) for page in first)]}
    ]
    for reader, text in zip(parts[1::2], parts[2::2], strict=True):
        pages = _new(LINK.findall(text), listed)
        if pages:  # a section of words has none
            menu.append({reader: [_entry(sources, page) for page in pages]})
    generated = {"benchmarks.md", "gallery.md"}
    left = {page.name for page in sources.glob("*.md")} - listed - generated
    if left:
        raise ValueError(f"docs/index.md does not list {', '.join(sorted(left))}")
    menu.append({"Environments": _folder(sources, "environments")})
    reference: list[Any] = [{"Commands": _folder(sources, "commands")}]
    reference += [{"Python": _folder(sources, "api")}, {"Benchmarks": "benchmarks.md"}]
    menu.append({"Reference": reference})
    menu.append({"Gallery": "gallery.md"})
    return menu


def _new(pages: list[str], listed: set[str]) -> list[str]:
    """Return the pages that are not yet listed, and list them."""
    found = [page for page in dict.fromkeys(pages) if page not in listed]
    listed.update(found)
    return found


def _folder(sources: Path, name: str) -> list[Any]:
    pages = sorted(
        (sources / name).glob("*.md"), key=lambda p: (p.stem != "index", p.stem)
    )
    return [
        f"{name}/{page.name}"
        if page.stem == "index"
        else _entry(sources, f"{name}/{page.name}")
        for page in pages
    ]


def _entry(sources: Path, page: str) -> dict[str, str]:
    """Return a page with the title that its heading gives."""
    heading = HEAD.search((sources / page).read_text(encoding="utf-8"))
    title = page if heading is None else heading[1].replace("`", "")
    return {title: page}
