"""JSON of others: what programs stumble over is refused by name."""

from __future__ import annotations

import json

import pytest

from ambulo.configs.json_text import MAX_DEPTH, first_problem, json_value, unique_keys


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[" * 100_000, "nested more than 100 deep"),
        ('{"a":' * 200 + "1" + "}" * 200, "nested more than 100 deep"),
        ("NaN", "NaN is not a JSON number"),
        ("[1e999]", "1e999 is beyond the range"),
        ("9" * 5000, "an integer of 5000 digits"),
        ("2" + "0" * 308, "beyond the range"),
        (r'"\ud800"', "half a character"),
        (r'{"\udfff": 1}', "half a character"),
        ("{", "Expecting property name"),
        (b"\xff\xfe\xff", "codec can't decode"),
        (r'[{"b": {"a": 1, "\u0061": 1}}]', "'a': given twice in one object"),
    ],
)
def test_what_is_refused(text: str | bytes, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        json_value(text)


def test_whole_values_are_those_of_json() -> None:
    value = {"a": [1, -2.5e-3, None, True, "ä\U0001f600"], "state": 2**127}
    assert json_value(json.dumps(value)) == value
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert json_value(deep) == json.loads(deep)


def test_the_largest_numbers_are_chosen_by_the_caller() -> None:
    assert first_problem({"a": [2**63 - 1, True]}, 2**63 - 1) is None
    assert first_problem([2**63], 2**63 - 1) == f"{2**63}: beyond {2**63 - 1}"
    assert first_problem([-1e31, "a"], None, 1e30) == "-1e+31: beyond 1e+30"
    assert first_problem([10**5000], 1) == "an integer of 16610 bits: beyond 1"


def test_a_key_given_twice_among_many_is_found_in_one_pass() -> None:
    # The repeated key comes last: a pass over all keys for each of them takes hours.
    pairs = [(f"k{i}", 0) for i in range(200_000)]
    with pytest.raises(ValueError, match="'k199999': given twice"):
        unique_keys([*pairs, ("k199999", 0)])
