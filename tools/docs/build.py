"""Build the documentation site: `python tools/docs/build.py` makes build/site.

Guides come from docs/; pages on environments, commands, the API, measurements and pictures
are generated from the code and the results, into build/docs, and are in no commit.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import _api
import _commands
import _environments
import _gallery
import _guides
import _navigation
import _results

from ambulo.envs.vr.levels.level_io import level_schema

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build" / "typing"
"""The package as a tree of links (`tools/link_types.py`), which the API pages read."""

logger = logging.getLogger("docs")


def main(argv: list[str] | None = None) -> int:
    """Generate the pages and build the site; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build", metavar="FOLDER",
        help="where docs/ (pages) and site/ are made (default: build)",
    )  # fmt: skip
    parser.add_argument(
        "--pages-only", action="store_true", help="do not build the site"
    )
    parser.add_argument(
        "--repository", metavar="URL",
        help="address of the repository's files, such as https://HOST/OWNER/REPO/blob/main; "
        "without it, links to files outside docs/ become names",
    )  # fmt: skip
    args = parser.parse_args(argv)
    logging.basicConfig(level="INFO", format="%(message)s")
    if not PACKAGES.is_dir():
        parser.exit(2, "build.py: error: run tools/link_types.py first\n")
    pages = args.out.absolute() / "docs"
    write_pages(pages, args.repository)
    if args.pages_only:
        return 0
    config = _navigation.write_config(ROOT, pages)
    shutil.rmtree(pages.parent / "site", ignore_errors=True)
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "-f", str(config)],
        cwd=pages.parent, check=False,
    )  # fmt: skip
    return built.returncode


def write_pages(folder: Path, repository: str | None) -> None:
    """Put all pages of the site together in `folder`, and the JSON schema of level files."""
    shutil.rmtree(folder, ignore_errors=True)
    _guides.write(ROOT / "docs", folder, repository)
    _environments.write(folder)
    _commands.write(folder)
    _api.write(folder, PACKAGES)
    _results.write(ROOT / "docs" / "results", folder)
    _gallery.write(ROOT / "docs", folder)
    schema = json.dumps(level_schema(), indent=1) + "\n"
    (folder / "level.schema.json").write_text(schema, encoding="utf-8")
    logger.info("%d pages in %s", len(list(folder.rglob("*.md"))), folder)


if __name__ == "__main__":
    sys.exit(main())
