"""The gallery: every picture and film of docs/images, with what the guides say of it."""

from __future__ import annotations

import html
import re
from pathlib import Path

PICTURE = re.compile(r"!?\[([^\]]*)\]\(images/([\w.-]+)\)")
ENDINGS = {".gif", ".png"}


def write(docs: Path, folder: Path) -> None:
    """Write gallery.md with a figure for every picture of `docs`/images."""
    said: dict[str, tuple[str, str]] = {}
    for page in sorted(docs.glob("*.md")):
        for words, name in PICTURE.findall(page.read_text(encoding="utf-8")):
            said.setdefault(name, (words, page.name))
    lines = ["# Gallery", "", '<div class="gallery">']
    files = sorted(p for p in (docs / "images").iterdir() if p.suffix in ENDINGS)
    for file in files:
        if file.suffix == ".png" and file.with_suffix(".gif") in files:
            continue  # a still of the film
        words, page = said.get(file.name, ("", ""))
        title = html.escape(words if len(words) > 12 else file.stem.replace("_", " "))
        link = f' (<a href="{page.removesuffix(".md")}.html">guide</a>)' if page else ""
        lines.append(
            f'<figure><img src="images/{file.name}" alt="{title}" loading="lazy">'
            f"<figcaption>{title}{link}</figcaption></figure>"
        )
    for file in sorted((docs / "images" / "environments").glob("*.webp")):
        lines.append(
            f'<figure><img src="images/environments/{file.name}" alt="{file.stem}" '
            f'loading="lazy"><figcaption>{file.stem} (<a href="environments/{file.stem}.html">'
            "environment</a>)</figcaption></figure>"
        )
    lines += ["</div>", ""]
    (folder / "gallery.md").write_text("\n".join(lines), encoding="utf-8")
