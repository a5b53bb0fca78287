"""The built documentation site: pages, tables, links."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import gymnasium
import pytest

import ambulo
from ambulo.command_table import AMBULO
from ambulo.envs.info_keys import INFO_KEYS
from ambulo.envs.vr.levels.level_io import level_schema

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.slow
ambulo.register()
ENVIRONMENTS = sorted(
    n for n in gymnasium.registry if n.startswith("ambulo/") and "Godot" not in n
)
OF_SCRIPTS = {"__search", "__palette"}


@dataclass
class Page(HTMLParser):
    """The addresses and anchors of a page."""

    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[key] for key in ("id", "name") if key in values}
        self.links += [values[key] for key in ("href", "src") if key in values]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with docs/ (pages) and site/, built by the tool."""
    for module in ("zensical", "griffe"):
        pytest.importorskip(module, reason="needs the extra docs")
    out = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, str(ROOT / "tools" / "link_types.py")], check=True)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "docs" / "build.py"), "--out", str(out)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return out


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, Page]:
    """Every page of the site, parsed."""
    parsed: dict[Path, Page] = {}
    for file in sorted((built / "site").rglob("*.html")):
        page = parsed[file] = Page()
        page.feed(file.read_text(encoding="utf-8"))
    return parsed


def test_no_link_is_dead(built: Path, pages: dict[Path, Page]) -> None:
    site = built / "site"
    dead: list[str] = []
    for file, page in pages.items():
        if file.name == "404.html":  # its addresses begin at the root of a server
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = file if not parts.path else _file(file, parts.path)
            known = pages.get(target)
            if not target.exists() or not target.is_relative_to(site):
                dead.append(f"{file.relative_to(site)}: {link}")
            elif known is not None and unquote(parts.fragment) not in (
                known.anchors | OF_SCRIPTS | {""}
            ):
                dead.append(f"{file.relative_to(site)}: no anchor {link}")
    assert dead == []


def _file(page: Path, path: str) -> Path:
    """Return the file that a relative address of a page means."""
    target = Path(os.path.normpath(page.parent / unquote(path)))
    return target / "index.html" if target.is_dir() else target


def test_nothing_is_fetched_from_other_hosts(built: Path) -> None:
    """Pages open from a disk, and ask no one."""
    fetched = re.compile(
        r'<(?:script|img|iframe)[^>]*src="https?:|<link[^>]*href="https?:'
    )
    for file in (built / "site").rglob("*.html"):
        assert not fetched.search(file.read_text(encoding="utf-8")), file.name


def test_every_guide_is_a_page_of_the_menu(
    built: Path, pages: dict[Path, Page]
) -> None:
    site = built / "site"
    guides = {page.stem for page in (ROOT / "docs").glob("*.md")}
    linked = {
        urlsplit(link).path.removeprefix("./")
        for link in pages[site / "index.html"].links
    }
    assert {f"{name}.html" for name in guides - {"index"}} <= linked


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_page_of_an_environment_is_what_the_environment_is(
    built: Path, name: str
) -> None:
    stem = name.removeprefix("ambulo/").partition("-")[0]
    text = (built / "docs" / "environments" / f"{stem}.md").read_text(encoding="utf-8")
    assert f"(../images/environments/{stem}.webp)" in text
    parts = dict(
        zip(*[iter(re.split(r"^## (.+)$", text, flags=re.M)[1:])] * 2, strict=True)
    )
    env = ambulo.make(name)
    try:
        env.reset(seed=0)
        *_, info = env.step(env.action_space.sample())
        seen = parts["Observation"].partition("The critic")[0]
        sizes = [int(row.split("|")[3]) for row in table_rows(seen)]
        assert sum(sizes) == math.prod(env.observation_space.shape or ())
        assert len(table_rows(parts["Action"])) == math.prod(
            env.action_space.shape or ()
        )
        terms = {row.split("|")[1].strip(" `") for row in table_rows(parts["Reward"])}
        assert terms == {key[7:] for key in info if key.startswith("reward/")}
        keys = {row.split("|")[1].strip(" `") for row in table_rows(parts["Metrics"])}
        assert keys == {key for key in info if not key.startswith("reward/")}
    finally:
        env.close()


def table_rows(text: str) -> list[str]:
    """The rows of a page's table, without its head."""
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return rows[1:]


def test_every_key_that_is_explained_is_in_some_environment(built: Path) -> None:
    folder = built / "docs" / "environments"
    text = "".join(page.read_text(encoding="utf-8") for page in folder.glob("*.md"))
    assert [key for key in INFO_KEYS if f"`{key}`" not in text] == []


def test_every_command_and_every_public_name_has_its_place(built: Path) -> None:
    for name in AMBULO.rows:
        assert (built / "site" / "commands" / f"{name}.html").is_file()
    index = (built / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    for name in set(ambulo.__all__) - {"__version__"}:
        assert f"## ambulo.{name}\n" in index


def test_benchmarks_hold_the_files_of_results(built: Path) -> None:
    text = (built / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for file in (ROOT / "docs" / "results").glob("*.json"):
        assert f"(results/{file.name})" in text
    data = json.loads((ROOT / "docs" / "results" / "vr_heldout.json").read_text())
    rate = data["agents"]["policy"]["success_rate"]
    assert f"{rate['value']:.4g} ({rate['low']:.4g} to {rate['high']:.4g})" in text


def test_search_finds_a_page_by_its_words(built: Path) -> None:
    index = json.loads((built / "site" / "search.json").read_text(encoding="utf-8"))
    found = [
        item["location"]
        for item in index["items"]
        if "vr_navigation" in item["location"] or "VRNavigation" in item["location"]
    ]
    assert found


def test_schema_of_level_files_is_beside_the_pages(built: Path) -> None:
    schema = json.loads((built / "site" / "level.schema.json").read_text("utf-8"))
    assert schema == level_schema()
