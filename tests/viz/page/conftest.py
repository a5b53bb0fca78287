"""The built page in a real browser, without a window."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ambulo.viz.page.build import build_site
from ambulo.viz.page.bundle import PageError

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; skips where npm's packages cannot be had."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("building the page needs Node.js with npm")
    pytest.importorskip("torch")
    out = tmp_path_factory.mktemp("site") / "page"
    try:
        build_site(out)
    except PageError as error:
        if str(error).startswith("npm failed") and "CI" not in os.environ:
            pytest.skip(f"npm's packages cannot be had: {error}")
        raise
    return out


class Browser:
    """Pages of the site from the disk, each in a context with an empty profile."""

    def __init__(self, playwright: Any, site: Path, folder: Path) -> None:
        self._playwright, self._site, self._folder = playwright, site, folder

    @contextmanager
    def open(self, name: str, width: int = 1200, height: int = 900) -> Iterator[Any]:
        """The page `name`, ready; errors of its scripts fail the test."""
        errors: list[str] = []
        context = self._playwright.chromium.launch_persistent_context(
            self._folder / f"profile-{name}-{width}-{len(list(self._folder.iterdir()))}",
            executable_path=CHROMIUM, headless=True, args=FLAGS,
            viewport={"width": width, "height": height},
        )  # fmt: skip
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("requestfailed", lambda request: errors.append(request.url))
        page.goto((self._site / f"{name}.html").as_uri())
        if name != "index":
            page.wait_for_selector("body[data-ready]", timeout=120_000)
            assert page.evaluate("document.body.dataset.ready") == "true", errors
        try:
            yield page
            assert errors == []
        finally:
            context.close()


@pytest.fixture(scope="module")
def browser(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser; skips without chromium or playwright.

    Its event loop runs in this thread as long as the fixture lives: not across modules.
    """
    if CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("no playwright: pip install 'playwright>=1.50,<2'")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield Browser(playwright, site, tmp_path_factory.mktemp("profiles"))
