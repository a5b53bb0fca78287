import pytest
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from ambulo.commands.sweeps.kinds import Training
from ambulo.commands.sweeps.space import (
    checked_space,
    chosen_ranges,
    distribution,
    overrides,
)
from ambulo.configs.errors import ConfigError


def test_ranges() -> None:
    assert distribution("k", "1e-4:1e-2:log") == FloatDistribution(1e-4, 1e-2, log=True)
    assert distribution("k", "2:8") == IntDistribution(2, 8)
    assert distribution("k", "0.5:2") == FloatDistribution(0.5, 2.0)
    assert distribution("k", "relu,tanh") == CategoricalDistribution(["relu", "tanh"])
    assert distribution("k", "[64],[64,64]").choices == ("[64]", "[64,64]")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    ["1", "a,", "a,a", "1:2:lin", "2:1", "a:b", "0:1:log", "nan:1", "1:inf", "1:2:3:4"],
)
def test_bad_ranges_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--search k="):
        distribution("k", text)


def test_given_ranges_replace_the_default_ones() -> None:
    assert chosen_ranges(["a=1:2"], {"b": "1:2"}) == {"a": "1:2"}
    assert chosen_ranges([], {"b": "1:2"}) == {"b": "1:2"}
    for wrong in (["a"], ["a=1:2", "a=1:3"], ["training.seed=1:3"]):
        with pytest.raises(ConfigError, match="--search"):
            chosen_ranges(wrong, {})


def test_ends_must_be_valid_settings() -> None:
    training = Training("vr", "quick_test")
    with pytest.raises(
        ConfigError, match=r"ppo\.gamma=0\.9:1\.5: .*less than or equal"
    ):
        checked_space({"ppo.gamma": "0.9:1.5"}, training, ["--preset", "quick_test"])
    with pytest.raises(ConfigError, match=r"did you mean 'ppo\.gamma'"):
        checked_space({"ppo.gama": "0.9:1.0"}, training, ["--preset", "quick_test"])


def test_values_become_flags() -> None:
    flags = overrides({"a.b": 1e-05, "a.c": "[1,2]", "a.d": 3})
    assert flags == ["--set", "a.b=1e-05", "--set", "a.c=[1,2]", "--set", "a.d=3"]
