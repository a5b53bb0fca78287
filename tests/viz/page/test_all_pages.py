"""What every page must do: open from the disk, fit a telephone, and obey the keyboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ambulo.viz.page.build import MOST_BYTES, PAGES

pytestmark = pytest.mark.slow

NAMES = [page.name for page in PAGES]
CONTROLS = "main :is(button, select, input, a[href]):not(:disabled)"


@pytest.mark.parametrize("name", ["index", *NAMES])
def test_page_fits_400_pixels_without_scrolling_aside(browser: Any, name: str) -> None:
    with browser.open(name, width=400, height=800) as page:
        width = page.evaluate("document.documentElement.scrollWidth")
        sizes = page.evaluate(
            "[...document.querySelectorAll('main, main *')]"
            ".map(node => parseFloat(getComputedStyle(node).fontSize))"
        )
    assert width <= 400
    assert min(sizes) >= 14.0


@pytest.mark.parametrize("name", NAMES)
def test_every_control_is_reached_by_the_tab_key_in_order(
    browser: Any, name: str
) -> None:
    with browser.open(name) as page:
        ids = page.eval_on_selector_all(CONTROLS, "nodes => nodes.map(node => node.id)")
        assert ids
        assert all(ids), "a control without an id"
        page.focus(f"#{ids[0]}")
        reached = [ids[0]]
        for _ in ids[1:]:
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id"))
    assert reached == ids


@pytest.mark.parametrize("name", NAMES)
def test_every_control_has_a_name(browser: Any, name: str) -> None:
    unnamed = """nodes => nodes.filter(node => !node.textContent.trim()
        && !node.labels?.length && !node.getAttribute('aria-label')).map(node => node.id)"""
    with browser.open(name) as page:
        assert page.eval_on_selector_all(CONTROLS, unnamed) == []
        assert page.get_attribute("#stage canvas", "aria-label")


@pytest.mark.parametrize("name", NAMES)
def test_something_is_drawn(browser: Any, name: str) -> None:
    with browser.open(name) as page:
        shades = page.evaluate(
            """async () => {
            const canvas = document.querySelector('#stage canvas');
            await new Promise(requestAnimationFrame);
            const copy = new OffscreenCanvas(canvas.width, canvas.height);
            const context = copy.getContext('2d');
            const { stage } = ambulo.page;
            stage.renderer.render(stage.scene, stage.camera);
            context.drawImage(canvas, 0, 0);
            const { data } = context.getImageData(0, 0, copy.width, copy.height);
            const shades = new Set();
            for (let k = 0; k < data.length; k += 4 * 97)
                shades.add(data[k] << 16 | data[k + 1] << 8 | data[k + 2]);
            return shades.size;
        }"""
        )
    assert shades > 20


def test_pages_are_small_and_load_nothing_from_elsewhere(site: Path) -> None:
    sizes = json.loads((site / "page.json").read_text(encoding="utf-8"))
    assert sorted(sizes) == sorted(NAMES)
    assert max(sizes.values()) <= MOST_BYTES
    for file in site.glob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert "http" not in text.replace("http-equiv", "")
        assert "{{" not in text
        assert 'type="module"' not in text
