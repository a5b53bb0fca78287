"""Locomotion training through the command: teacher, resume, stop, bad input, models."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures import locomotion_runs as _runs

from ambulo.common.console import Words, make_display
from ambulo.common.signals import StopRequest
from ambulo.configs.base import load_json
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.locomotion import LocomotionConfig, LocomotionEnvironmentConfig
from ambulo.configs.motion_nn import MotionNNConfig, MotionRunConfig
from ambulo.configs.presets.locomotion import PRESETS, preset
from ambulo.evaluate.locomotion.task import make_bodies, references_for, vector_env
from ambulo.evaluate.locomotion.teachers import LawTeacher, PolicyTeacher
from ambulo.policies.agents.locomotion import load_locomotion, load_locomotion_agent
from ambulo.policies.agents.motion import load_encoder
from ambulo.policies.files.model_file import ModelFile, save_model
from ambulo.policies.kinds.motion_nn import describe_motion
from ambulo.policies.networks.locomotion_policy import make_policy
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.registry import kind_of
from ambulo.train.locomotion.callbacks import LocomotionMetrics
from ambulo.train.locomotion.command import COMMAND
from ambulo.train.locomotion.dagger import teach
from ambulo.train.locomotion.run_folder import LocomotionRunFolder
from ambulo.train.train_locomotion import main as train

BODIES, STEPS = 6, 8
ROLLOUT = BODIES * STEPS
TINY: dict[str, dict[str, Any]] = {
    "environment": {"num_environments": BODIES, "max_episode_steps": 20},
    "network": {"net_arch": [16], "warm_up_steps": 4},
    "ppo": {"n_steps": STEPS, "batch_size": 16, "n_epochs": 2},
    "training": {
        "total_timesteps": 4 * ROLLOUT,
        "eval_freq": 2 * ROLLOUT,
        "save_freq": 2 * ROLLOUT,
        "eval_episodes": 2,
        "eval_seconds": 0.3,
    },
}
TEACHER = {
    "samples": 6 * 30,
    "rounds": 3,
    "epochs": 2,
    "last_epochs": 3,
    "batch_size": 32,
}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = _runs.standing_reference(tmp_path_factory.mktemp("r") / "s.npz")
    return found


@pytest.fixture
def tiny(reference: Path, tmp_path: Path) -> Path:
    """A settings file; the current folder is empty."""
    return settings(tmp_path / "tiny.json", reference)


def settings(file: Path, reference: Path, **changes: dict[str, Any]) -> Path:
    data: dict[str, Any] = {group: {**values} for group, values in TINY.items()}
    data["environment"]["reference"] = str(reference)
    for group, values in changes.items():
        data[group].update(values)
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def run(config: Path, name: str, *more: str) -> LocomotionRunFolder:
    arguments = ["--config", str(config), "--run-name", name, "--no-progress"]
    output = ["--output", str(config.parent / "runs"), "--episodes", "2"]
    assert train([*arguments, *output, *more]) == 0
    return LocomotionRunFolder(config.parent / "runs" / name)


def weights_equal(a: Path, b: Path) -> bool:
    one, two = load_locomotion(a).weights, load_locomotion(b).weights
    return one.keys() == two.keys() and all(torch.equal(one[k], two[k]) for k in one)


def motion_network(file: Path) -> Path:
    """A tiny motion network in `file`."""
    encoder = MotionNNConfig(mode="mlp", width=8, depth=1, history=4, chunk=2)
    torch.manual_seed(0)
    network = MotionNN(encoder).state_dict()
    metadata = describe_motion(MotionRunConfig(model=encoder))
    save_model(file, ModelFile(metadata, network))
    return file


def resumed_as(whole: LocomotionRunFolder, part: LocomotionRunFolder) -> None:
    """Continue `part` to the length of `whole`: the bits are the same."""
    more = ["--timesteps", str(4 * ROLLOUT), "--no-progress", "--episodes", "2"]
    assert train(["--resume", str(part.path), *more]) == 0
    assert weights_equal(whole.final_model, part.final_model)


def test_faults_are_counted_whatever_their_reason(
    reference: Path, tmp_path: Path
) -> None:
    config = LocomotionConfig.model_validate(TINY).override(
        "environment", reference=str(reference), balance_law=False
    )
    batch = make_bodies(config, 3, references_for(config), seed=0)
    env, row = vector_env(batch), {}
    env.reset()
    batch.simulation.qvel[1, 20] = 4000.0
    batch.simulation.qvel[2, 20] = np.nan
    env.step_arrays(np.zeros((3, batch.action_size)))
    display = make_display(1, False, Words("", ""))
    LocomotionMetrics(tmp_path / "metrics.csv", display).more(row, env)
    assert row == {"rollout/faults": 2}


def test_every_preset_is_valid_and_told() -> None:
    for name, words in PRESETS.items():
        assert words
        assert isinstance(preset(name), LocomotionConfig)
    with pytest.raises(ConfigError, match="did you mean 'imitate_walk'"):
        preset("imitate_wolk")


def test_flags_become_settings() -> None:
    args = COMMAND.parse(
        [
            "--preset",
            "imitate_walk",
            "--teacher",
            "law",
            "--threads",
            "2",
            "--seed",
            "7",
        ]
    )
    config = COMMAND.settings(args)
    assert config.training.teacher is not None
    assert not config.environment.balance_law
    assert (config.training.num_threads, config.training.seed) == (2, 7)
    args = COMMAND.parse(["--preset", "imitate_walk_network", "--teacher", "none"])
    assert COMMAND.settings(args).training.teacher is None
    args = COMMAND.parse(["--teacher", "lawn"])
    with pytest.raises(ConfigError, match="did you mean 'law'"):
        COMMAND.settings(args)


def test_settings_that_need_each_other_come_in_any_order() -> None:
    nn, legs = "environment.resolver=nn", ["--character", "myolegs"]
    args = COMMAND.parse(["--set", nn, *legs, "--actuation", "muscle"])
    config = COMMAND.settings(args).environment
    assert (config.resolver, config.actuation, config.substeps) == ("nn", "muscle", 8)
    args = COMMAND.parse(["--set", nn, *legs])
    with pytest.raises(ConfigError, match="resolver = nn needs actuation = muscle"):
        COMMAND.settings(args)
    args = COMMAND.parse(["--set", "environment.action_scale=0", "--seed", "3"])
    with pytest.raises(ConfigError, match=r"^--set: environment\.action_scale = 0"):
        COMMAND.settings(args)


def test_a_run_leaves_model_scores_and_curves(tiny: Path) -> None:
    folder = run(tiny, "first")
    model = load_locomotion(folder.best_model)
    assert kind_of(folder.best_model) == "locomotion"
    assert model.metadata.config.environment.reference == "s.npz"
    assert model.metadata.actions[:4] == ("FemurR_x", "FemurR_y", "FemurR_z", "TibiaR")
    scores = json.loads(folder.scores.read_text())
    assert set(scores["agents"]) == {"policy", "built_in"}
    assert scores["timesteps"] == 4 * ROLLOUT
    assert (folder.path / "learning.png").read_bytes().startswith(b"\x89PNG")
    with folder.metrics.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["timesteps"]) for row in rows] == [
        ROLLOUT * k for k in (1, 2, 3, 4)
    ]
    assert {"rollout/speed", "reward/pose", "train/approx_kl"} <= rows[0].keys()


def test_a_stored_model_acts_without_its_run(tiny: Path) -> None:
    folder = run(tiny, "first")
    agent = load_locomotion_agent(folder.final_model)
    obs = np.zeros((3, agent.layout.size), np.float32)
    actions = agent.act(obs)
    assert actions.shape == (3, len(agent.metadata.actions))
    assert np.abs(actions).max() <= 1.0
    torch.manual_seed(0)
    assert not np.array_equal(agent.act(obs, deterministic=False), actions)
    with pytest.raises(ModelFileError, match="observations of shape"):
        agent.act(obs[:, 1:])


@pytest.mark.parametrize("teacher", [None, TEACHER])
def test_a_resumed_run_has_the_bits_of_a_whole_one(
    reference: Path, tmp_path: Path, teacher: dict[str, Any] | None
) -> None:
    changes: dict[str, Any] = {"teacher": teacher and {**teacher, "critic_updates": 1}}
    law = {"balance_law": teacher is None, "push_impulse": [5, 20]}
    config = settings(tmp_path / "c.json", reference, training=changes, environment=law)
    whole = run(config, "whole")
    part = run(config, "part", "--timesteps", str(2 * ROLLOUT))
    more = ["--timesteps", str(4 * ROLLOUT), "--no-progress", "--episodes", "2"]
    assert train(["--resume", str(part.path), *more]) == 0
    assert weights_equal(whole.final_model, part.final_model)
    assert whole.evaluations.read_text() == part.evaluations.read_text()


@pytest.mark.slow
def test_resumed_in_a_fresh_state_from_the_first_checkpoint(tiny: Path) -> None:
    whole = run(tiny, "whole")
    part = run(tiny, "part", "--timesteps", str(ROLLOUT), "--eval-freq", "0")
    first = part.checkpoint(0)
    assert first.is_file()
    arguments = ["--resume", str(first), "--run-name", "again", "--no-progress"]
    output = ["--output", str(tiny.parent / "runs"), "--episodes", "2"]
    total = ["--timesteps", str(4 * ROLLOUT), "--eval-freq", str(2 * ROLLOUT)]
    assert train([*arguments, *output, *total]) == 0
    again = LocomotionRunFolder(tiny.parent / "runs" / "again")
    assert weights_equal(whole.final_model, again.final_model)


def test_the_network_learns_what_the_law_does(reference: Path) -> None:
    config = LocomotionConfig.model_validate(TINY).override(
        "environment", reference=str(reference), balance_law=False, push_impulse=(5, 20)
    )
    teacher = {"samples": 1200, "rounds": 4, "epochs": 10, "last_epochs": 40}
    config = config.override("training", teacher=teacher)
    references = references_for(config)
    batch = make_bodies(config, BODIES, references, seed=1)
    torch.manual_seed(0)
    policy = make_policy(config.network, batch.layout, batch.action_size)
    assert config.training.teacher is not None
    with StopRequest() as stop:
        rounds = teach(
            policy, batch, config.training.teacher, LawTeacher(), seed=0, stop=stop
        )
    assert [row.samples for row in rounds] == [300, 600, 900, 1200]
    assert rounds[-1].error < 0.8 * rounds[0].error
    batch.reset(np.arange(BODIES))
    for _ in range(15):
        batch.step(np.zeros((BODIES, batch.action_size)))
    wanted = batch.teacher_actions()
    with torch.inference_mode():
        played = policy.means(torch.as_tensor(batch.obs)).numpy()
    assert np.square(played - wanted).mean() < 0.25 * np.square(wanted).mean()


def test_a_trained_policy_teaches_the_sum_of_law_and_residual(
    reference: Path, tmp_path: Path
) -> None:
    config = settings(tmp_path / "c.json", reference)
    folder = run(config, "master", "--timesteps", str(ROLLOUT), "--eval-freq", "0")
    agent = load_locomotion_agent(folder.final_model)
    theirs = agent.config.override("environment", action_scale=0.4)
    agent.config = theirs.override("environment", reference=str(reference))
    references = references_for(agent.config)
    twins = [
        make_bodies(
            agent.config.override("environment", balance_law=law, action_scale=scale),
            BODIES,
            references,
            seed=3,
        )
        for law, scale in ((True, 0.4), (False, 0.8))
    ]
    played, pupil = twins
    teacher = PolicyTeacher(agent, pupil)
    for batch in twins:
        batch.reset(np.arange(BODIES))
    for _ in range(12):  # the pupil does as it is told: the same walk without a law
        played.step(agent.act(played.obs))
        wanted = teacher.actions(pupil)
        assert np.abs(wanted).max() < 1.0
        pupil.step(wanted)
    np.testing.assert_allclose(
        pupil.simulation.qpos, played.simulation.qpos, rtol=0.0, atol=1e-6
    )
    assert np.abs(played.law).max() > 0.01
    other = pupil.config.override("environment", joints=("Femur?", "Tibia?"))
    legs = make_bodies(other, 1, references, seed=3)
    with pytest.raises(ConfigError, match="joints that the actions do not move"):
        PolicyTeacher(agent, legs)


def test_a_taught_run_follows_its_teachers_reference(
    reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = settings(tmp_path / "c.json", reference)
    master = run(config, "master", "--timesteps", str(ROLLOUT), "--eval-freq", "0")
    config = settings(
        tmp_path / "t.json",
        reference,
        training={"teacher": TEACHER},
        environment={"reference": None},
    )
    pupil = run(
        config, "pupil", "--teacher", str(master.path), "--timesteps", str(ROLLOUT)
    )
    model = load_locomotion(pupil.final_model)
    assert model.attachments == load_locomotion(master.best_model).attachments
    teacher = model.metadata.config.training.teacher
    assert teacher is not None
    assert teacher.model == "best_model.zip"  # no folder of this machine
    rows = json.loads(pupil.evaluations.read_text())
    assert [row["timesteps"] for row in rows] == [0, ROLLOUT]
    more = ["--config", str(config), "--no-progress", "--teacher", str(master.path)]
    assert train([*more, "--reference", str(tmp_path / "other.npz")]) == 2
    assert "follows s.npz, not other.npz" in capsys.readouterr().err


def test_a_run_from_a_model_follows_what_it_followed(
    reference: Path, tmp_path: Path
) -> None:
    config = settings(tmp_path / "c.json", reference)
    first = run(config, "first", "--timesteps", str(ROLLOUT), "--eval-freq", "0")
    config = settings(tmp_path / "d.json", reference, environment={"reference": None})
    more = ["--timesteps", str(ROLLOUT), "--eval-freq", "0", "--init-from"]
    second = run(config, "second", *more, str(first.final_model))
    before, after = (load_locomotion(f.final_model) for f in (first, second))
    assert after.attachments == before.attachments


def test_what_the_teacher_made_is_the_best_unless_learning_betters_it(
    reference: Path, tmp_path: Path
) -> None:
    teacher = {**TEACHER, "critic_updates": 1}
    config = settings(
        tmp_path / "c.json",
        reference,
        training={"teacher": teacher},
        environment={"balance_law": False},
    )
    # Steps so large that nothing is left of what was learned.
    folder = run(config, "spoiled", "--set", "ppo.learning_rate=5")
    rows = json.loads(folder.evaluations.read_text())
    assert rows[0]["timesteps"] == 0
    assert rows[0]["return_mean"] > rows[-1]["return_mean"]
    assert weights_equal(folder.best_model, folder.checkpoint(0))


@pytest.mark.parametrize("with_prior", [False, True])
def test_critic_first_leaves_the_actor_as_the_teacher_made_it(
    reference: Path, tmp_path: Path, with_prior: bool
) -> None:
    teacher = {**TEACHER, "critic_updates": 100}
    network: dict[str, Any] = {}
    if with_prior:
        prior = {"model": str(motion_network(tmp_path / "motion.zip")), "frames": 2}
        network = {"policy": "prior", "prior": prior}
    config = settings(
        tmp_path / "c.json",
        reference,
        training={"teacher": teacher},
        environment={"balance_law": False},
        network=network,
    )
    folder = run(config, "taught")
    before = load_locomotion(folder.checkpoint(0)).weights
    after = load_locomotion(folder.final_model).weights
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all(n.startswith(("mlp_extractor.critic", "value_net")) for n in changed)


def test_prior_and_modes_train_resume_and_load(reference: Path, tmp_path: Path) -> None:
    file = motion_network(tmp_path / "motion.zip")
    network = load_encoder(file).state_dict()
    prior = {"model": str(file), "frames": 2, "unfreeze_at": 0.5}
    config = settings(
        tmp_path / "p.json", reference, network={"policy": "prior", "prior": prior}
    )
    whole = run(config, "whole")
    weights = load_locomotion(whole.final_model).weights
    frozen = load_locomotion(whole.checkpoint(2 * ROLLOUT)).weights
    name = next(name for name in weights if name.startswith("encoder.trunk."))
    assert torch.equal(frozen[name], network[name.removeprefix("encoder.")])
    assert not torch.equal(weights[name], frozen[name])
    resumed_as(whole, run(config, "short", "--timesteps", str(3 * ROLLOUT)))
    config = settings(
        tmp_path / "m.json",
        reference,
        network={"policy": "two_level"},
        environment={"more_references": [str(reference)]},
    )
    whole = run(config, "modes")
    model = load_locomotion(whole.final_model)
    assert len(model.attachments) == 2
    assert model.metadata.config.environment.more_references == ("s.npz",)
    resumed_as(whole, run(config, "part", "--timesteps", str(2 * ROLLOUT)))


def test_a_stop_saves_and_tells_how_to_go_on(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The signal comes in the first roll-out."""
    monkeypatch.setattr(StopRequest, "__enter__", _stopped)
    arguments = ["--config", str(tiny), "--run-name", "s", "--no-progress"]
    code = train([*arguments, "--output", str(tiny.parent / "runs")])
    assert code == 130
    folder = LocomotionRunFolder(tiny.parent / "runs" / "s")
    assert folder.newest_checkpoint() == folder.checkpoint(ROLLOUT)
    assert f"--resume {folder.path}" in capsys.readouterr().err


def _stopped(stop: StopRequest) -> StopRequest:
    stop.signal_number = 2
    return stop


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--preset", "walk"], "unknown preset 'walk'"),
        (["--reference", "nowhere.amc"], "nowhere.amc"),
        (["--task", "fly"], "environment.task"),
        (["--set", "network.policy=prior"], "network.prior"),
        (["--resume", "nowhere"], "no such run folder"),
        (["--set", "training.seed=-1"], "training.seed"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert train(["--no-progress", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_changed_settings_are_refused_on_resume(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(tiny, "first", "--timesteps", str(ROLLOUT))
    assert train(["--resume", str(folder.path), "--set", "ppo.gamma=0.5"]) == 2
    assert "ppo.gamma cannot change" in capsys.readouterr().err
    assert load_json(LocomotionConfig, folder.config).ppo.gamma == 0.97


def test_a_run_without_a_whole_checkpoint_does_not_begin_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = LocomotionRunFolder.create(str(tmp_path), "cut", "label", 0, force=False)
    folder.describe(LocomotionConfig().to_json(), [], 0)
    folder.checkpoint(48).write_bytes(b"PK half of a checkpoint")
    assert train(["--resume", str(folder.path)]) == 2
    error = capsys.readouterr().err
    assert f"{folder.checkpoint(48)}: truncated" in error
    assert "no checkpoint of this run is whole" in error
    assert error.count("\n") == 1


def test_preparing_a_reference_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = object()

    def slow(env: LocomotionEnvironmentConfig, body: object) -> object:
        assert "preparing the plain walk (imitate) for human23" in (
            capsys.readouterr().err
        )
        return made

    monkeypatch.setattr("ambulo.evaluate.locomotion.task.reference_of", slow)
    assert references_for(LocomotionConfig()) == (made,)
    assert capsys.readouterr().err == "prepared in 0 s\n"


def test_damaged_models_are_refused(tiny: Path, tmp_path: Path) -> None:
    folder = run(tiny, "first", "--timesteps", str(ROLLOUT))
    model = load_locomotion(folder.final_model)
    bad = {
        **model.weights,
        "log_std": torch.full_like(model.weights["log_std"], np.nan),
    }
    with pytest.raises(ModelFileError, match="'log_std' has values not finite"):
        save_model(tmp_path / "bad.zip", type(model)(model.metadata, bad))
    del bad["log_std"]
    with pytest.raises(ModelFileError, match="'log_std' is missing"):
        save_model(tmp_path / "bad.zip", type(model)(model.metadata, bad))
    assert not (tmp_path / "bad.zip").exists()
    save_model(tmp_path / "bare.zip", type(model)(model.metadata, model.weights))
    with pytest.raises(ModelFileError, match=r"bare\.zip: reference_0\.npz.* missing"):
        load_locomotion(tmp_path / "bare.zip")
    with (
        zipfile.ZipFile(folder.final_model) as old,
        zipfile.ZipFile(tmp_path / "nosy.zip", "w") as new,
    ):
        for name in old.namelist():
            data = old.read(name)
            if name == "ambulo.json":
                header = json.loads(data)
                header["config"]["environment"]["fault_folder"] = str(tmp_path)
                data = json.dumps(header).encode()
            new.writestr(name, data)
    nosy = load_locomotion(tmp_path / "nosy.zip").metadata.config.environment
    assert nosy.fault_folder is None  # a file does not choose where we write
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("ambulo.json", json.dumps({"format": "ambulo-model"}))
    with pytest.raises(ModelFileError, match="kind is None, expected 'locomotion'"):
        load_locomotion(tmp_path / "other.zip")
