"""HTML reports from templates: one self-contained file without links."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ambulo.common.files import write_atomic
from ambulo.common.run_folder import provenance

TEMPLATES = Path(__file__).parent
"""Folder of `base.html`, which templates extend, and of the macros in `parts.html`."""


def write_html(
    page: Path, template: Path, title: str, facts: Mapping[str, str], **values: Any
) -> Path:
    """Render `template` with `values` into the page; return it.

    All texts are escaped.

    Args:
        page: File to write; its folder exists.
        template: Template file, which extends `base.html`.
        title: Title of the page.
        facts: Provenance; time and versions are added.
        values: Variables of the template.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([template.parent, TEMPLATES]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["data_uri"] = _data_uri
    made = provenance(0)
    packages = ", ".join(f"{k} {v}" for k, v in made["packages"].items())
    shown = {
        **facts,
        "made": time.strftime("%Y-%m-%d %H:%M %Z"),
        "versions": f"ambulo {made['ambulo']}, python {made['python']}, {packages}",
    }
    text = environment.get_template(template.name).render(
        title=title, made=shown, **values
    )
    write_atomic(page, text)
    return page


def _data_uri(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
