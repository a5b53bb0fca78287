"""`ambulo eval` of every kind of model: bad flags are one line, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.exits import refusal

from ambulo.common.command_line import arguments_of
from ambulo.evaluate.command import main
from ambulo.evaluate.flags import all_eval_flags
from ambulo.evaluate.kinds import all_kinds

ORACLE = "--episodes 1 --baselines oracle --no-report"
CASES = {
    "none": {
        "--episodes many": "invalid int value",
        "--num-envs 0": "--num-envs 0",
        "--baselines orakel": "did you mean 'oracle'",
        "--baselines none": "nothing to evaluate",
        "--level-set mazes": "did you mean 'maze'",
        "--level-file absent.json": "absent.json",
        "--level-set maze --level-file x": "exclude each other",
        "--world mujco": "did you mean 'mujoco'",
        "--task patrols": "did you mean 'patrol'",
        "--video film.avi": "must end in .mp4 or .gif",
        "--json no/such/folder/a.json": "no such folder",
        "--frobnicate": "--frobnicate",
        "--set actions.snap_turn=-3": "actions.snap_turn = -3",
        "--set environment.eye_height=9": "environment.eye_height = 9",
        "--set environment.world=godot": "use --world",
        "--set rewards.progress=3": "only settings of actions and environment",
        "--set actions.teleport": "expected KEY=VALUE",
        "--set actions.no_such=1": "no_such",
        f"{ORACLE} --views eyes": "--views: needs --video",
        f"{ORACLE} --film-with both": "--film-with: needs --video",
        f"{ORACLE} --film-episode 0": "--film-episode: needs --video",
        f"{ORACLE} --video a.mp4 --film-episode 1": "1: episodes are 0 to 0",
        f"{ORACLE} --video a.mp4 --film-episode -1": "'-1' is neither a number nor",
        f"{ORACLE} --video a.mp4 --film-episode wurst": "(did you mean 'worst'?)",
    },
    "absent.zip": {"": "absent.zip: no such model file"},
    "here/absent.zip": {"": "absent.zip: no such model file"},
    "vr_navigatoin": {"": "did you mean 'vr_navigation'"},
    "vr_navigation": {
        "--data x": "--data: is for ",
        "--seconds 3": "--seconds: is for locomotion models and bodies",
        "--perturb": "--perturb: is for ",
        "--agents 4 --world mujoco": "--agents 4: they meet in world = compiled",
        "--agents 4 --body human23": "--agents 4: only capsules meet",
        "--agents 4 --video x.mp4": "--video: not with --agents",
        "--body human23": "was trained for the capsule",
        "--body humanoid": "unknown 'humanoid' (did you mean 'human23'?)",
    },
    "imitate_walk": {
        "--baselines laws": "did you mean 'law'",
        "--level-set maze": "--level-set: is for VR agents",
        "--impulses=-10,20": "--impulses -10,20: must be numbers from 0 to 10000",
        "--impulses 10,,20": "--impulses 10,,20: must be numbers",
        "--impulses nan": "--impulses nan: must be numbers",
        "--impulses 10 --push-episodes 0": "leaves pushes out",
        "--perturb ice": "--perturb: unknown perturbation 'ice'",
        "--json /proc/x.json": "/proc/x.json: cannot be written",
        "--video /proc/x.mp4": "/proc/x.mp4: cannot be written",
    },
    "gait_walk": {
        "--perturb": "--perturb: is for ",
        "--video walk.mp4": "and walkers and trackers and VR agents only",
        "--baselines zero": "unknown baseline 'zero' (valid: all, law, none)",
        "--push-episodes 5": "every body is pushed",
        "--world godot": "--world: is for VR agents",
    },
    "gait_law": {"--stochastic": "--stochastic: is for "},
    "gait_net": {
        "--baselines zero": "unknown baseline 'zero'",
        "--estimator e.zip": "give --data",
    },
    "ik_net": {
        "--world compiled": "--world: is for VR agents only",
        "--data absent.npz": "absent.npz",
    },
    "ik_trackers": {
        "--rate 5": "--rate 5: must be 20 to 500",
        "--noise-mm -1": "--noise-mm -1: must be 0 to 100",
        "--clips nowhere": "nowhere",
        "--baselines nearest": "--baselines nearest: needs --data",
    },
    "motion_nn": {
        "--stride 0": "--stride 0",
        "--horizons 0": "'0' is no time in ms",
    },
    "muscle_nn_myolegs": {"--seconds 3": "--seconds: is for locomotion models"},
    "track": {"--frames 1:2": "--frames 1:2: is for a file that --clips names"},
}
"""Expected message by model and flags."""


@pytest.mark.parametrize(
    ("model", "flags", "message"),
    [(model, *case) for model, cases in CASES.items() for case in cases.items()],
)
def test_a_bad_flag_is_one_line_and_nothing_is_written(
    model: str,
    flags: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refusal(main, [model, *flags.split()], capsys)
    assert list(tmp_path.iterdir()) == []


def test_a_flag_of_its_own_is_for_its_kind_alone() -> None:
    """Every flag that a kind accepts is a flag of the command."""
    known = {argument.name for argument in arguments_of(all_eval_flags())}
    for kind in all_kinds():
        assert kind.accepted <= known, kind.name
