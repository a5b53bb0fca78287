"""Build the documentation site: `python tools/docs/build.py` makes build/site.

Guides come from docs/; pages on environments, commands, the API, measurements and pictures
are generated from the code and the results, into build/docs, and are in no commit.
"""

from __future__ import annotations

import argparse
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

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"

logger = logging.getLogger("docs")


def main(argv: list[str] | None = None) -> int:
    """Generate the pages and build the site; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
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
    write_pages(SOURCES, args.repository)
    if args.pages_only:
        return 0
    config = _navigation.write_config(ROOT, SOURCES)
    shutil.rmtree(SITE, ignore_errors=True)
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "-f", str(config)],
        cwd=ROOT, check=False,
    )  # fmt: skip
    return built.returncode


def write_pages(folder: Path, repository: str | None) -> None:
    """Put all pages of the site together in `folder`, which is made afresh."""
    shutil.rmtree(folder, ignore_errors=True)
    _guides.write(ROOT / "docs", folder, repository)
    for part in (_environments, _commands, _api):
        part.write(folder)
    _results.write(ROOT / "docs" / "results", folder)
    _gallery.write(ROOT / "docs", folder)
    logger.info("%d pages in %s", len(list(folder.rglob("*.md"))), folder)


if __name__ == "__main__":
    sys.exit(main())
