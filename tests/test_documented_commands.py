"""The commands that README and guides show run as they stand there, at a small size."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name

import pytest
from fixtures.motion import cmu  # noqa: F401

from ambulo.command_table import AMBULO
from ambulo.common.command_line import Command, Output, arguments_of

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELLS = {"", "bash", "console", "sh", "shell"}
OURS = re.compile(
    r"(ambulo|train_\w+|eval_motion|rollout_gait|augment_gait|python)( |$)"
)
OTHERS = {
    "make": "each target has its own test or is one of the commands of this file",
    ".venv\\Scripts\\activate": "set-up: tests run in an environment that is set up",
    "pip": "set-up: downloads",
    "tensorboard": "another program",
    "godot/install_engine.sh": "downloads an engine",
    "godot/run.sh": "tests/godot runs the project",
    "hf": "another program",
    "curl": "tests/envs/godot speaks to the bridge",
    "blender": "another program; tests/blender runs the add-on",
    "git": "downloads",
    "mkdir": "copies of the add-on: tests/envs/godot/test_guides.py does so",
    "cp": "as mkdir",
    "godot": "another program",
    "docker": "another program",
    "export": "set-up of a cluster",
    "ray": "another program; tests/train/shared/test_cluster.py starts nodes by it",
}
"""First words of other lines in shell blocks, and why they are not run here."""

NOT_RUN = {
    r"python -m (venv|pytest|pip)": "set-up, and this test itself",
    r" \[--": "a synopsis, not a command",
    r"ambulo data fetch": "downloads",
    r"ambulo page build": "needs Node.js and npm: tests/viz/page builds the pages",
    r"--world godot .*--record|--film-with": "needs an engine with OpenGL",
    r"ambulo (sweep|compare|tune)": "many trainings: tests/commands/sweeps",
    r"ambulo (push|pull)": "needs a hub: tests/commands/hub has one",
    r"--engine ray": "tests/train/shared runs workers on Ray",
    r"--godot-url": "needs a game that runs",
    r"^python blender/": "downloads wheels; tests/blender builds the add-on",
    r"rl_zoo3|logs/ppo": "another program: tests/peers runs both",
    r"ambulo rig-(server|client)": "a server that runs until Ctrl-C: run below",
    r"ambulo (play|watch) |--watch": "servers until Ctrl-C: tests/commands/viewing",
    r"ambulo track-server": "a server that runs until Ctrl-C: tests/commands/trackers",
    r"--resume runs/\w+_\d{8}-\d{6}": "the name of a run holds the time of its start",
    r"M\.zip|runs/motion |split_info": "a motion run: tests/train/test_train_motion.py",
    r"train-estimator|estimator\.zip": "tests/train/gait_use trains these",
    r"--comfort": "needs an agent with a dial: tests/evaluate/vr/test_dials.py",
    r"my_game": "tests/envs/godot/test_guides.py runs that guide",
    r"/muscle_walk|--preset muscle_walk": "minutes: tests/envs/reference, tests/train",
    r"gait (compose|extract-cycles)|walks\.zip|runs/healthy": "tests/train/gait",
}
"""Commands of ours that are not run, and why."""

WALKER = (
    "--num-envs 4 --timesteps 32 --set ppo.n_steps=8 --set ppo.batch_size=16 "
    "--set ppo.n_epochs=1 --eval-freq 32 --eval-episodes 2 --episodes 2 --threads 1 "
    "--set environment.max_episode_steps=20 --set training.eval_seconds=0.3 "
    "--set network.warm_up_steps=2 --no-progress"
)
SMALL = {
    r"(train/train_vr_navigation.py|train vr) (?!--resume)": (
        "--num-envs 2 --timesteps 64 --set ppo.n_steps=32 --set ppo.batch_size=32 "
        "--eval-freq 64 --eval-episodes 2 --episodes 2 --no-progress"
    ),
    r"environment.agents=8": "--num-envs 8 --timesteps 256",
    r"--preset full_training|train vr --preset embodied(_tasks)?$": (
        """--set 'training.teacher={"samples": 256, "rounds": 1, "epochs": 1, """
        """"last_epochs": 1, "critic_updates": 1}'"""
    ),
    r"(train_locomotion|ambulo train walk) (?!--resume)": WALKER,
    r"--device cuda": "--device cpu",
    r"ambulo train walk --preset imitate_walk_network": (
        """--set 'training.teacher={"samples": 64, "rounds": 1, "epochs": 1, """
        """"last_epochs": 1, "critic_updates": 1}'"""
    ),
    r"ambulo train track ": (
        "--num-envs 4 --timesteps 32 --set ppo.n_steps=8 --set ppo.batch_size=16 "
        "--eval-freq 32 --eval-episodes 2 --episodes 2 --no-progress "
        """--set 'training.teacher={"samples": 64, "rounds": 1, "epochs": 1, """
        """"last_epochs": 1, "critic_updates": 1}'"""
    ),
    r"ambulo train trackers": "--preset quick_test --no-progress",
    r"benchmarks/track_body.py": "--quick --agent walk_commands",
    r"ambulo fit": "--frames 0:80 --bodies 2",
    r"ambulo eval": "--episodes 2",
    r"ambulo eval .*--agents 8": "--episodes 8 --baselines oracle",
    r"ambulo eval .*--views": "--film-episode best --baselines none",
    r"ambulo rollouts": "--episodes 2",
    r"ambulo playtest": "--agents 4 --min-success 0 --max-stuck 99 --min-coverage 0",
    r"ambulo playtest res://": "--max-sealed 2",
    r"ambulo eval .*(runs/(walk|locomote)|locomote )": "--seconds 1 --push-episodes 0",
    r"rollout_gait": "--episodes 2 --workers 1 --seconds 10",
    r"rollout_gait.py --space human23": "--episodes 64",
    r"ambulo train gait": "--epochs 1",
    r"train muscle": "--preset quick_test --steps 2 --no-progress",
    r"ambulo train ik ": "--epochs 1 --set dataset.least=100 --no-progress",
    r"ambulo train motion": (
        "--epochs 1 --set model.width=16 --set model.depth=1 --set model.heads=2 "
        "--set training.rollout_ratio=0 --set dataset.stride=40 --no-progress"
    ),
}
"""Options that make a command small; the last value of an option counts."""
WORDS = {
    "docs/embodied.md": {"MODEL": "embodied_navigation"},
    "docs/godot.md": {"MODEL": "embodied_navigation"},
    "docs/locomotion_evaluation.md": {"MODEL": "locomote"},
    "docs/track_body.md": {"CLIPS": "clip.amc"},
    "docs/vr_evaluation.md": {"MODEL": "vr_navigation"},
    "docs/motion_nn.md": {"DIR": "mocap/asfamc", "DIR2": "mocap/bvh_mb"},
}
"""Placeholders of a page and what stands in for them."""
BEFORE = {
    "README.md": ["ambulo levels generate --family rooms --count 2 --out my_levels"],
    "docs/embodied.md": [
        "ambulo levels generate --family rooms --count 2 --out my_levels"
    ],
    "docs/gait.md": [
        "ambulo gait generate --out clip.bvh",
    ],
    "docs/godot_scenes.md": [
        "ambulo levels generate --family open --out cloister.json",
    ],
    "docs/locomotion_evaluation.md": [
        "ambulo train walk --preset quick_test --run-name walk"
    ],
    "docs/playtest.md": [
        "ambulo levels generate --family rooms --count 2 --out my_levels",
        "ambulo levels generate --family open --out old.json",
        "ambulo levels generate --family open --seed 1 --out new.json",
    ],
    "docs/trackers_stream.md": ["ambulo gait generate --out walk.bvh"],
    "docs/vr_evaluation.md": [
        "ambulo levels generate --family rooms --count 2 --out my_levels"
    ],
    "docs/vr_navigation.md": [
        "ambulo levels generate --family rooms --count 2 --out my_levels"
    ],
}
"""What a page takes for granted, made before its commands."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    language: str
    text: str

    @property
    def lines(self) -> list[str]:
        """Its commands, without comments, a continued one in one line."""
        joined = re.sub(r"\\\n\s*", "", self.text)
        plain = (re.sub(r"(^|\s+)#.*", "", line) for line in joined.splitlines())
        return [line.removeprefix("$ ").strip() for line in plain if line.strip()]

    @property
    def is_shell(self) -> bool:
        """Whether it holds commands rather than what a command prints."""
        if self.language not in SHELLS:
            return False
        return self.language != "" or any(map(first_word, self.lines))


def first_word(line: str) -> str | None:
    """The program that a line starts, of those we know."""
    if line.startswith("ambulo: "):  # what ours prints
        return None
    if OURS.match(line):
        return line.split(maxsplit=1)[0]
    return next((word for word in OTHERS if line.split(maxsplit=1)[0] == word), None)


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield Block(page, *found.groups())


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def commands(page: Path) -> list[str]:
    """Our own commands on a page that are run."""
    lines = [line for block in blocks(page) if block.is_shell for line in block.lines]
    ours = [line for line in lines if OURS.match(line) and first_word(line)]
    return [c for c in ours if not any(re.search(rule, c) for rule in NOT_RUN)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_line_of_a_shell_block_is_known(page: Path) -> None:
    strange = [
        line
        for block in blocks(page)
        if block.is_shell
        for line in block.lines
        if first_word(line) is None
    ]
    assert not strange, "neither ours nor in OTHERS"


def test_every_rule_is_needed() -> None:
    lines = [c for page in PAGES for b in blocks(page) if b.is_shell for c in b.lines]
    ours = [line for line in lines if OURS.match(line)]
    for rule in NOT_RUN:
        assert any(re.search(rule, line) for line in ours), f"{rule}: no such command"


def written(command: str) -> list[str]:
    """The files that a command of ours names to write."""
    _, *words = shlex.split(command)
    leaves = sorted(AMBULO.leaves(), key=lambda leaf: -len(leaf[0]))
    row = next((r for names, r in leaves if tuple(words[: len(names)]) == names), None)
    if row is None:
        return []
    program = resolve_name(row.target)
    flags = (
        program.flags if isinstance(program, Command) else program.__self__.flag_class
    )
    outputs = [argument for argument in arguments_of(flags) if argument.mark(Output)]
    named = {flag for output in outputs for flag in output.spellings}
    if "--force" in words:
        return []
    return [word for flag, word in pairwise(words) if flag in named]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_command_of_a_page_writes_a_file_of_another(page: Path) -> None:
    """It would be refused without `--force`."""
    files = [
        file
        for command in [*BEFORE.get(name_of(page), []), *commands(page)]
        if command.startswith("ambulo ")
        for file in written(command)
    ]
    assert len(set(files)) == len(files), sorted(files)


@pytest.fixture
def workspace(tmp_path: Path, cmu: Path) -> Path:  # noqa: F811
    """A folder with the clips and the game that guides speak of."""
    shutil.copytree(ROOT / "tests" / "data" / "playtest" / "game", tmp_path / "my_game")
    walker = cmu / "asfamc" / "02"
    for clip in ("02_01.amc", "02_02.amc"):
        shutil.copy(walker / clip, tmp_path)
    shutil.copy(walker / "02.asf", tmp_path)
    shutil.copy(walker / "02_01.amc", tmp_path / "clip.amc")
    (tmp_path / "godot" / "policies").mkdir(parents=True)  # of this project
    (tmp_path / "mocap").symlink_to(cmu, target_is_directory=True)
    for subject in ("02", "07", "12"):
        shutil.copytree(cmu / "asfamc" / subject, tmp_path / "cmu" / subject)
    shutil.copytree(cmu / "asfamc" / "13", tmp_path / "cmu_more" / "13")
    shutil.copytree(cmu / "asfamc" / "07", tmp_path / "my_clips")
    for clip in sorted((tmp_path / "cmu" / "02").glob("*.amc"))[3:]:
        clip.unlink()
    return tmp_path


def words_of(command: str, page: str) -> list[str]:
    """The command as a process' arguments, small and with placeholders filled."""
    for word, value in WORDS.get(page, {}).items():
        command = re.sub(rf"\b{word}\b", value, command)
    more = [extra for rule, extra in SMALL.items() if re.search(rule, command)]
    program, *rest = shlex.split(" ".join([command, *more]))
    if program == "python":
        rest[0] = str(ROOT / rest[0])
        return [sys.executable, *rest]
    module = "ambulo.cli" if program == "ambulo" else f"ambulo.train.{program}"
    return [sys.executable, "-m", module, *rest]


def run(folder: Path, command: str, page: str) -> None:
    environment = os.environ | {"AMBULO_MOTION_CACHE": str(folder / ".cache")}
    done = subprocess.run(
        words_of(command, page),
        cwd=folder, env=environment, capture_output=True, text=True, timeout=1800,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, (
        f"{command}\n{done.stdout[-1000:]}{done.stderr[-3000:]}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=name_of)
def test_commands_of_a_page_run(
    page: Path, workspace: Path, request: pytest.FixtureRequest
) -> None:
    name = name_of(page)
    if any("godot" in command for command in commands(page)):
        request.getfixturevalue("godot_program")
    for command in [*BEFORE.get(name, []), *commands(page)]:
        run(workspace, command, name)


@pytest.mark.slow
def test_commands_of_the_rig_server(workspace: Path) -> None:
    page = ROOT / "docs" / "rig_server.md"
    lines = [line for block in blocks(page) if block.is_shell for line in block.lines]
    clients = [line for line in lines if line.startswith("ambulo rig-client")]
    assert clients
    assert "ambulo rig-server" in lines
    run(workspace, "ambulo gait generate --out walk.bvh", "")
    server = [sys.executable, "-m", "ambulo.cli", "rig-server", "--plain"]
    with subprocess.Popen(
        server, cwd=workspace, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            started = any("listening" in line for line in process.stderr)
            assert started
            for client in clients:
                run(workspace, client, "")
        finally:
            process.send_signal(signal.SIGTERM)
