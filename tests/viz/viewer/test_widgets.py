import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.viz.viewer.widgets import LONGEST, Widgets, markdown, plain


@given(st.text())
def test_texts_are_literal_in_markdown(text: str) -> None:
    shown = markdown("**{title}**", title=text)[2:-2]
    # Nothing but letters, spaces and escaped characters, which are the text.
    literal = re.sub(r"\\([!-/:-@\[-`{-~])", "", shown)
    assert not re.search(r"[!-/:-@\[-`{-~]", literal)
    assert re.sub(r"\\(.)", r"\1", shown) == plain(text)


@given(st.text())
def test_plain_texts_are_one_printable_line(text: str) -> None:
    line = plain(text)
    assert line.isprintable()
    assert len(line) <= LONGEST + 3
    assert plain(line[:LONGEST]) == line[:LONGEST].strip()


def test_patterns_and_numbers_stay_as_they_are() -> None:
    assert markdown("**{a}**  \nt = {t:.1f} s", a="<b>", t=0.25) == (
        "**\\<b\\>**  \nt = 0.2 s"
    )
    assert plain("a\n b\x00\u202e") == "a b\N{REPLACEMENT CHARACTER}" * 1 + (
        "\N{REPLACEMENT CHARACTER}"
    )


def test_html_has_no_way_past() -> None:
    class Gui:
        def add_uplot(self, *args: object, **options: object) -> object:
            return args, options

    widgets = Widgets(Gui())
    given = widgets.add_uplot(({"label": "a\nb"},), title="c\nd", height=1)
    assert given == ((({"label": "a b"},),), {"title": "c d", "height": 1})
    for name in ("add_html", "set_panel_label"):
        with pytest.raises(AttributeError):
            getattr(widgets, name)
