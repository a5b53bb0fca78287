"""Time to load the pages of `ambulo page build` from the disk, in headless Chromium.

Needs chromium and playwright. Prints a row for each page and run: from the start of
navigation to the page being ready, with an empty profile, [ms].
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def load_ms(page: Path, chromium: str) -> int:
    """Load one page in a new browser, [ms]."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium, headless=True, args=FLAGS
        )
        tab = context.new_page()
        tab.goto(page.resolve().as_uri())
        tab.wait_for_selector("body[data-ready=true]", timeout=120_000)
        found = int(tab.evaluate("document.body.dataset.loadMs"))
        context.close()
    return found


def main() -> None:
    """Measure a built site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, help="folder of `ambulo page build`")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    sizes = json.loads((args.site / "page.json").read_text(encoding="utf-8"))
    for name, size in sizes.items():
        times = [
            load_ms(args.site / f"{name}.html", args.chromium) for _ in range(args.runs)
        ]
        load = os.getloadavg()[0]
        print(f"{name:<12} {size / 1e6:5.1f} MB  {times} ms, load average {load:.0f}")


if __name__ == "__main__":
    main()
