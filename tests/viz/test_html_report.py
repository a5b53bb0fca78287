from pathlib import Path

from fixtures.viewer import HOSTILE

from ambulo.viz.html_report import write_html

TEMPLATE = """{% extends "base.html" %}
{% from "parts.html" import facts_table, figure, notes, table, tiles, video %}
{% block body %}
{{ tiles({text: text}) }}{{ facts_table({text: text}) }}{{ table([text], [[text], [text]]) }}
{{ figure(text, data) }}{{ notes([text]) }}{{ video(file) }}
{% endblock %}
"""


def test_texts_are_no_html(tmp_path: Path) -> None:
    template, film = tmp_path / "own.html", tmp_path / "film.gif"
    template.write_text(TEMPLATE)
    film.write_bytes(b"GIF")
    page = write_html(
        tmp_path / "report.html", template, HOSTILE, {HOSTILE: HOSTILE},
        text=HOSTILE, data=b"PNG", file=film,
    ).read_text()  # fmt: skip
    assert page.count("&lt;iframe") == 13
    assert "<iframe" not in page
    assert "<img id=taken" not in page
    assert "<script" not in page
    assert 'src="data:image/png;base64,UE5H"' in page
    assert 'src="data:image/gif;base64,R0lG"' in page
