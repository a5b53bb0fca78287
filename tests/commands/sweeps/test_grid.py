import pytest

from ambulo.commands.sweeps.grid import split_values, variants_of
from ambulo.commands.sweeps.kinds import Training, find_training
from ambulo.configs.errors import ConfigError
from ambulo.configs.presets import preset_folders
from ambulo.configs.trainings import kind_names, load_kind


def test_a_grid_has_every_combination() -> None:
    variants = variants_of(["a.x=1,2", "a.y=[1,2],[3]", "a.z=7"])
    assert [variant.label for variant in variants] == [
        "x=1 y=[1,2]", "x=1 y=[3]", "x=2 y=[1,2]", "x=2 y=[3]",
    ]  # fmt: skip
    assert variants[0].overrides == ("a.x=1", "a.y=[1,2]", "a.z=7")
    assert [variant.folder for variant in variants] == [
        "x-1-y-1-2", "x-1-y-3", "x-2-y-1-2", "x-2-y-3",
    ]  # fmt: skip


def test_names_of_folders_are_unique() -> None:
    names = [variant.folder for variant in variants_of(["a.x=/b,/c/,b"])]
    assert len(set(names)) == 3


def test_without_settings_there_is_one_variant() -> None:
    assert [v.label for v in variants_of([])] == ["preset"]
    assert split_values('"a,b",{"c": [1,2]}') == ['"a,b"', '{"c": [1,2]}']


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["a.x"], "expected KEY=VALUE"),
        (["a.x=1", "a.x=2"], "given twice"),
        (["a.x=1,,2"], "empty or there twice"),
        (["a.x=1,1"], "empty or there twice"),
        (["training.seed=1,2"], "see --seeds"),
        ([f"a.{k}={','.join(map(str, range(200)))}" for k in "xyz"], "combinations"),
    ],
)
def test_bad_grids_are_refused(settings: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        variants_of(settings)


def test_trainings_have_names() -> None:
    expected = Training("vr", "quick_test")
    assert find_training(["vr", "quick_test"], "p") == expected
    assert find_training(["vr/quick_test"], "p") == expected
    assert find_training(["walk", "stand"], "p") == Training("locomotion", "stand")
    assert find_training(["first_run"], "p") == Training("vr", "first_run")
    assert find_training(["walk"], "p") == Training("locomotion")
    with pytest.raises(ConfigError, match="write ambulo sweep vr quick_test"):
        find_training(["quick_test"], "ambulo sweep")
    with pytest.raises(ConfigError, match="did you mean 'first_run'"):
        find_training(["vr", "frist_run"], "p")
    with pytest.raises(ConfigError, match="unknown kind"):
        find_training(["vrr", "quick_test"], "p")


def test_every_kind_of_training_can_be_swept_and_tuned() -> None:
    """Its search space names settings that exist, and both ends of each are valid."""
    from ambulo.commands.sweeps.space import checked_space

    assert set(kind_names()) == set(preset_folders())
    data = {
        "motion": ["--bvh_dir", "x"],
        "ik": ["--data", "x"],
        "gait": ["--data", "x"],
        "trackers": ["--data", "x"],
    }
    for name in kind_names():
        arguments = data.get(name, [])
        assert checked_space(load_kind(name).search, Training(name), arguments)


def test_a_resumed_run_keeps_the_flags_that_it_may_have() -> None:
    training = Training("ik", None)
    flags = ["--data", "poses.npz", "--config=a.json", "--epochs", "3", "--init", "x"]
    assert training.resumed(flags) == ["--epochs", "3"]
    assert Training("motion").resumed(["--bvh-dir", "a", "--mode", "mlp"]) == [
        "--mode", "mlp",
    ]  # fmt: skip
