import pytest

from ambulo.configs.names import LEVEL, MODEL, RUN, NameRule


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (LEVEL, ["maze 3", "Bob's room (2)", "höhle", "x" * 200], ["", " ", "x" * 201]),
        (RUN, ["walk_0", "v1.2+a-b", "lauf_ä"], ["", "a b", "a/b", "..", "-a"]),
        (MODEL, ["walk_0", "9-a", "x" * 64], ["", "a.b", "_a", "ä", "x" * 65]),
    ],
)  # fmt: skip
def test_names(rule: NameRule, good: list[str], bad: list[str]) -> None:
    assert [rule.checked(name) for name in good] == good
    hostile = ["<script>", "a<b", 'a"b', "a`b", "a&lt;b", "a\\b", "a\nb", "a\u202eb"]
    for name in [*bad, *hostile]:
        assert not rule.allows(name), name
        with pytest.raises(ValueError, match="expected "):
            rule.checked(name)
