"""Parts of an evaluation report: one HTML file with everything inside and no links."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path

MAX_VIDEO_BYTES = 16_000_000
"""A larger video is only named, not embedded."""


def page_html(title: str, parts: Sequence[str]) -> str:
    """A self-contained page of HTML `parts`."""
    return _PAGE.format(title=html.escape(title), body="\n".join(parts))


def tiles_html(tiles: Mapping[str, str]) -> str:
    """Large numbers by label."""
    cells = "".join(
        f"<div class='tile'><b>{html.escape(value)}</b>"
        f"<span>{html.escape(label)}</span></div>"
        for label, value in tiles.items()
    )
    return f"<div class='tiles'>{cells}</div>"


def facts_table(facts: Mapping[str, str]) -> str:
    """Names and values, one row each."""
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table class='facts'>{rows}</table>"


def table_html(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text, the others numbers."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=n' if k else ''}>{html.escape(cell)}</{tag}>"
            for k, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f"<div class='scroll'><table><thead><tr>{cells(head, 'th')}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def figure_html(caption: str, data: bytes, kind: str = "image/png") -> str:
    """A picture under its caption."""
    text, uri = html.escape(caption), _data_uri(kind, data)
    return f"<h2>{text}</h2><figure><img src='{uri}' alt='{text}'></figure>"


def video_html(path: Path) -> str:
    """The video inside the page, or its name when it is large."""
    data = path.read_bytes()
    if len(data) > MAX_VIDEO_BYTES:
        return f"<p class='note'>Video of an episode: {html.escape(path.name)}</p>"
    if path.suffix == ".gif":
        return figure_html("One episode", data, "image/gif")
    uri = _data_uri("video/mp4", data)
    return (
        "<h2>One episode</h2><figure><video controls loop muted playsinline "
        f"src='{uri}'></video></figure>"
    )


def _data_uri(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light; --ink: #1c2430; --soft: #5b6675; --line: #d9dee6; }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: #fff;
  max-width: 1120px; margin: 2.5rem auto; padding: 0 1.2rem; }}
h1 {{ font-size: 1.7rem; margin: 0 0 .3rem; }}
h2 {{ font-size: 1.15rem; margin: 2.2rem 0 .6rem; }}
.tiles {{ display: flex; flex-wrap: wrap; gap: .7rem; }}
.tile {{ border: 1px solid var(--line); border-radius: 8px; padding: .6rem 1rem;
  min-width: 7.5rem; }}
.tile b {{ display: block; font-size: 1.45rem; font-variant-numeric: tabular-nums; }}
.tile span, .note {{ color: var(--soft); font-size: .87rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .87rem; min-width: 50%; }}
th, td {{ padding: .32rem .7rem; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: top; }}
thead th {{ border-bottom: 2px solid var(--ink); white-space: nowrap; }}
.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
.scores tbody tr:first-child td {{ font-weight: 600; }}
.facts td {{ overflow-wrap: anywhere; }}
figure {{ margin: 0; }}
img, video {{ max-width: 100%; border: 1px solid var(--line); border-radius: 8px; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
