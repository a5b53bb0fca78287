"""The guides of docs/, with links that hold on a site."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```$)", re.DOTALL | re.MULTILINE)
STYLE = """\
/* Wide tables and lines of code scroll inside the page, at any width. */
.md-typeset table:not([class]) { display: block; overflow-x: auto; max-width: 100%; }
.md-typeset pre > code { overflow-x: auto; }
.md-typeset img { max-width: 100%; height: auto; }
.md-typeset code { overflow-wrap: anywhere; }
/* Names in tables are not broken; the table scrolls. */
.md-typeset td code { overflow-wrap: normal; word-break: normal; }
.md-typeset td:first-child code { white-space: nowrap; }
/* Pictures below links, one for each kind of reader: one height. */
.md-typeset table:has(th a) td img {
  width: 100%; height: 9rem; object-fit: cover; object-position: top;
}
.gallery {
  display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(14rem, 100%), 1fr));
}
.gallery figure { margin: 0; width: auto; max-width: 100%; }
"""


def write(docs: Path, folder: Path, repository: str | None) -> None:
    """Copy the guides and what they show from `docs` to `folder`."""
    shutil.copytree(docs, folder, ignore=shutil.ignore_patterns("*.md"))
    (folder / "ambulo.css").write_text(STYLE, encoding="utf-8")
    for page in docs.rglob("*.md"):
        target = folder / page.relative_to(docs)
        text = page.read_text(encoding="utf-8")
        target.write_text(_rewritten(text, page, docs, repository), encoding="utf-8")


def _rewritten(text: str, page: Path, docs: Path, repository: str | None) -> str:
    """Return the page with links out of `docs` as addresses of the repository or as names."""

    def replaced(match: re.Match[str]) -> str:
        words, target = match.groups()
        file, _, anchor = target.partition("#")
        if not file or "://" in target or target.startswith("mailto:"):
            return match[0]
        path = Path(os.path.normpath(page.parent / file))
        if path == docs / "results":
            return f"[{words}](benchmarks.md)"
        if path.is_relative_to(docs):
            return match[0]
        name = path.relative_to(docs.parent).as_posix()
        if repository:
            tail = f"#{anchor}" if anchor else ""
            return f"[{words}]({repository.rstrip('/')}/{name}{tail})"
        return f"{words} (`{name}`)"

    parts = FENCE.split(text)
    parts[::2] = [_lists(LINK.sub(replaced, part)) for part in parts[::2]]
    return "".join(parts)


def _lists(text: str) -> str:
    """Return the text with an empty line before every list, as Python-Markdown wants it."""
    bullet = re.compile(r"^(?:[-*] |\d+\. )")
    lines: list[str] = []
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        if bullet.match(line) and before.strip() and not _in_list(before, lines):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _in_list(before: str, lines: list[str]) -> bool:
    """Return whether the line before belongs to a list."""
    if re.match(r"^(?:[-*] |\d+\. )", before):
        return True
    for line in reversed(lines):
        if re.match(r"^(?:[-*] |\d+\. )", line):
            return True
        if not line.startswith((" ", "\t")):
            return False
    return False
