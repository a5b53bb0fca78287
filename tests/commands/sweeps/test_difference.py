from pathlib import Path

import numpy as np
import pytest

from ambulo.commands.sweeps.difference import Difference, Group, difference_of
from ambulo.commands.sweeps.scores import RunScores
from ambulo.configs.errors import RunFolderError
from ambulo.configs.trainings import Score, load_kind

SUCCESS = load_kind("vr").score(None)
ERROR = load_kind("ik").score(None)


def group(label: str, values: list[float], task: str = "open") -> Group:
    runs = [RunScores(Path(label), {task: value}, {}, 60) for value in values]
    return Group(label, runs)


def compared(first: list[float], second: list[float], score: Score) -> Difference:
    return difference_of(group("A", first), group("B", second), score)


def test_separated_groups_differ() -> None:
    result = compared([0.9, 0.91, 0.93, 0.94], [0.5, 0.52, 0.55, 0.6], SUCCESS)
    assert result.is_real
    assert result.probability == 1.0
    assert result.p == pytest.approx(2 / 70)
    assert result.sentence.startswith("A is better than B: success rate +0.385 [")


def test_a_lower_error_is_better() -> None:
    result = compared([9.0, 9.1, 9.3, 9.4], [5.0, 5.2, 5.5, 6.0], ERROR)
    assert result.is_real
    assert result.probability == 0.0
    assert result.sentence.startswith("B is better than A: joint error [cm] +3.85 [")


def test_noise_is_no_difference() -> None:
    result = compared([0.5, 0.9, 0.7, 0.6], [0.8, 0.55, 0.65, 0.7], SUCCESS)
    assert not result.is_real
    assert "can be told from chance" in result.sentence


def test_three_seeds_each_are_too_few_even_when_separated() -> None:
    result = compared([0.9, 0.91, 0.93], [0.5, 0.52, 0.55], SUCCESS)
    assert not result.is_real
    assert "the smallest possible p is 0.1; 4 each are needed" in result.sentence


def test_one_seed_says_what_its_episodes_say() -> None:
    levels = {f"open-{k}": float(k % 10 != 0) for k in range(100)}
    worse = {
        name: value * (k % 3 != 0) for k, (name, value) in enumerate(levels.items())
    }
    runs = [
        RunScores(
            Path(name), {"open": float(np.mean(list(scores.values())))}, scores, 100
        )
        for name, scores in (("A", levels), ("B", worse))
    ]
    result = difference_of(Group("A", runs[:1]), Group("B", runs[1:]), SUCCESS)
    assert result.difference_ci95 is None
    assert result.sentence.startswith("One seed cannot tell A and B apart")
    assert (
        "On their 100 common levels the two networks differ (+0.3 [" in result.sentence
    )
    assert result.sentence.endswith("which says nothing of other seeds.")


def test_rates_of_single_runs_have_an_interval() -> None:
    text = compared([0.9], [0.5], SUCCESS).sentence
    assert "On 60 and 60 episodes the two networks differ" in text
    assert "no scores of single episodes" in compared([9.0], [5.0], ERROR).sentence


def test_runs_without_a_common_task_cannot_be_compared() -> None:
    with pytest.raises(RunFolderError, match="nothing can be compared"):
        difference_of(group("A", [1.0]), group("B", [1.0], "pits"), SUCCESS)
