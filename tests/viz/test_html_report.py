from fixtures.viewer import HOSTILE

from ambulo.viz.html_report import (
    facts_table,
    figure_html,
    page_html,
    table_html,
    tiles_html,
)


def test_texts_are_no_html() -> None:
    parts = [
        tiles_html({HOSTILE: HOSTILE}),
        facts_table({HOSTILE: HOSTILE}),
        table_html([HOSTILE], [[HOSTILE], [HOSTILE]]),
        figure_html(HOSTILE, b""),
    ]
    page = page_html(HOSTILE, parts)
    assert page.count("&lt;iframe") == 10
    assert "<iframe" not in page
    assert "<img id=taken" not in page
    assert "<script" not in page
