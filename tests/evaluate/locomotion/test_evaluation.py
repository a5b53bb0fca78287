"""Evaluation of locomotion with real physics, through the command too."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fixtures.standing import STANDING as CONFIG

from ambulo.configs.errors import RenderError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.registry import load_character
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.evaluate.command import main
from ambulo.evaluate.locomotion.evaluation import (
    LocomotionSubject,
    baselines_of,
    recorded,
    shares,
)
from ambulo.evaluate.locomotion.gait_probe import AngleProbe, TorqueProbe
from ambulo.evaluate.locomotion.pushes import push_recovery
from ambulo.policies.files.archive import read_archive, zipped
from ambulo.viz.body_film import gait_frames, write_gait_film


@pytest.mark.integration
def test_a_standing_body_weighs_what_it_weighs(reference: Reference) -> None:
    controller = baselines_of(["law"], CONFIG, (reference,))["law"]
    found = recorded(controller, 2, seconds=2.0)
    assert found.survived.all()
    settled = found.force[30:].sum(axis=-1).mean(axis=0)
    np.testing.assert_allclose(settled, found.weight, rtol=0.02)
    assert np.abs(found.angles[30:]).max() < np.deg2rad(12.0)
    assert found.joint_error[30:].max() < np.deg2rad(6.0)
    assert found.torque_error.max() == pytest.approx(0.0, abs=1e-12)
    assert found.slip[30:].sum() / found.slip_parts[30:].sum() < 0.02


def test_angles_are_those_that_the_joints_are_set_to(reference: Reference) -> None:
    batch = make_batch(CONFIG, 1, reference=reference)
    probe, model = AngleProbe(batch), batch.simulation.model
    qpos = model.qpos0.copy()[None]
    turned = {"FemurL": -0.4, "TalusR": -0.2}  # about Y: flexion, dorsiflexion
    for name, angle in turned.items():
        at = int(model.joint(name).qposadr[0])
        qpos[0, at : at + 4] = np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0
    qpos[0, int(model.joint("TibiaR").qposadr[0])] = 0.7
    # Raised and turned as a whole: angles are of the joints alone.
    qpos[0, :7] = 1.0, 2.0, 3.0, np.cos(0.5), 0.0, 0.0, np.sin(0.5)
    zero = np.zeros((1, model.nv))
    batch.simulation.reset(np.array([0]), np.zeros(1), qpos, zero)
    expected = [[[0.4, 0.0, 0.0], [0.0, 0.7, 0.2]]]
    np.testing.assert_allclose(probe.now(), expected, atol=1e-9)


def test_muscles_are_compared_with_their_optimum() -> None:
    character = load_character("myolegs")
    simulation = CharacterSimulation(character, 2)
    rest = np.tile(character.model.qpos0, (2, 1))
    zero = np.zeros((2, character.model.nv))
    simulation.reset(np.arange(2), np.zeros(2), rest, zero)
    whole: Any = SimpleNamespace(simulation=simulation, character=character)
    probe = TorqueProbe(whole)
    bent = np.array([-1.0, 1.0])[:, None] * 1e3
    for _ in range(4):
        simulation.step(rest, zero)
    simulation.torque[:] = bent  # far beyond what muscles can give
    off, least, wanted = probe.now()
    assert probe.size == 14
    np.testing.assert_allclose(wanted, 14 * 1e6)
    assert (least > 0.0).all()
    assert (off > least).all()
    angles = AngleProbe(whole).now()
    assert np.abs(angles).max() < np.deg2rad(3.0)  # it has hardly moved from rest


def test_an_episode_does_not_depend_on_its_neighbours(
    reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on macOS, Windows
    who = LocomotionSubject(CONFIG, (reference,))
    together = recorded(who, 3, seconds=0.3, seed=4, envs=3)
    apart = recorded(who, 3, seconds=0.3, seed=4, envs=1)
    np.testing.assert_array_equal(together.reward, apart.reward)
    other = recorded(who, 3, seconds=0.3, seed=5)
    assert (other.reward != together.reward).any()


def test_modes_share_the_episodes(reference: Reference) -> None:
    two = LocomotionSubject(CONFIG, (reference, reference))
    found = list(shares(two, 0, 5, 2))
    assert found == [(0, [0, 2]), (0, [4]), (1, [1, 3])]


def test_baselines_that_play_alike_are_played_once(reference: Reference) -> None:
    found = baselines_of(["law", "open_loop", "zero"], CONFIG, (reference,))
    assert list(found) == ["law", "open_loop"]
    assert not found["open_loop"].config.environment.balance_law
    pose = CONFIG.override("environment", task="locomote", base="pose")
    assert list(baselines_of(["law", "open_loop", "zero"], pose, (None,))) == ["zero"]
    track = LocomotionConfig().override("environment", task="track")
    names = ["law", "open_loop", "zero"]
    assert list(baselines_of(names, track, (reference,))) == ["zero"]


@pytest.mark.integration
def test_a_hard_push_fells_and_a_soft_one_does_not(reference: Reference) -> None:
    who = LocomotionSubject(CONFIG, (reference,))
    found = push_recovery(who, 2, impulses=(0.0, 400.0, 800.0))
    assert found.impulses == (0.0, 400.0)  # 800 would be hopeless
    assert found.survival == (1.0, 0.0)
    assert found.impulse_90 == pytest.approx(40.0)
    assert found.mass == pytest.approx(75.0, rel=1e-6)


@pytest.mark.integration
def test_command(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = tmp_path / "scores.json"
    folder = tmp_path / "report"
    arguments = [str(model), "--episodes", "2", "--seconds", "0.5", "--seed", "3"]
    more = ["--push-episodes", "0", "--baselines", "open_loop", "--output", str(folder)]
    assert main([*arguments, *more, "--json", str(scores)]) == 0
    data = json.loads(scores.read_text())
    assert (data["episodes"], data["seed"]) == (2, 3)
    assert list(data["agents"]) == ["policy", "open_loop"]
    policy = data["agents"]["policy"]
    for key in (
        "survival_rate", "joint_error_deg", "joint_error_cm", "speed_error",
        "heading_error", "cost_of_transport", "foot_skate", "symmetry",
        "torque_residual", "return_mean",
    ):  # fmt: skip
        assert key in policy
    survival = policy["survival_rate"]
    assert survival["value"] == 1.0
    low, high = survival["low"], survival["high"]  # 1 / (1 + 1.96^2 / 2)
    assert (low, high) == (pytest.approx(0.3424, abs=1e-4), 1.0)
    assert data["details"]["policy"]["push_recovery"] is None
    assert [(r["agent"], r["episode"]) for r in data["rows"]] == [
        (agent, k) for agent in ("policy", "open_loop") for k in (0, 1)
    ]
    page = (folder / "report.html").read_text()
    assert "Locomotion: evaluation" in page
    assert (folder / "joints.png").is_file()
    capsys.readouterr()
    assert main([*arguments, *more, "--json", "-", "--no-report"]) == 0
    assert json.loads(capsys.readouterr().out)["agents"] == data["agents"]


@pytest.mark.integration
def test_a_film_is_made_last_and_leaves_nothing_when_it_is_killed(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path, *_: object) -> None:
        assert (tmp_path / "report" / "report.html").is_file()
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("ambulo.viz.body_film.write_gait_film", killed)
    before = signal.getsignal(signal.SIGTERM)
    arguments = [str(model), "--episodes", "1", "--seconds", "0.1"]
    arguments += ["--push-episodes", "0", "--baselines", "none"]
    arguments += ["--output", str(tmp_path / "report")]
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--video", str(tmp_path / "film.mp4")])
    assert stopped.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


@pytest.mark.parametrize(
    ("change", "flags", "words"),
    [
        ({"character": "robot9"}, [], "ambulo.json: unknown character 'robot9'"),
        ({"action_scale": 0.5}, [], "ambulo.json: contract does not fit"),
        (None, ["--seconds", "3"], "no ambulo.json inside: no locomotion model"),
    ],
)
def test_a_wrong_model_is_named(
    model: Path,
    change: dict[str, str] | None,
    flags: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    members = read_archive(model)
    header = json.loads(members.pop("ambulo.json"))
    if change is not None:
        header["config"]["environment"] |= change
        if "character" in change:
            del header["contract"]
        members["ambulo.json"] = json.dumps(header).encode()
    bad = tmp_path / "bad.zip"
    bad.write_bytes(zipped(members))
    assert main([str(bad), *flags]) == 2
    error = capsys.readouterr().err
    assert f"{bad}: {words}" in error
    assert error.count("\n") == 1


@pytest.mark.integration
def test_film(gl: None, tmp_path: Path) -> None:
    character = configured_character(CONFIG.environment)
    poses = np.tile(character.model.qpos0, (4, 1))
    poses[:, 0] = np.linspace(0.0, 0.1, 4)
    with pytest.raises(RenderError, match=r"\.mp4 or \.gif"):
        write_gait_film(tmp_path / "a.avi", character.model, character, poses, 0.03)
    frames = list(gait_frames(character.model, character, poses, 0.03))
    assert [frame.shape for frame in frames] == [(480, 640, 3)] * 4
    assert np.abs(frames[0].astype(int) - frames[3]).max() > 30
    file = write_gait_film(
        tmp_path / "a.gif", character.model, character, poses, 1.0 / 30.0
    )
    assert file.stat().st_size > 1000
