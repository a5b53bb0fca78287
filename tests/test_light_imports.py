"""What an import or a call loads: libraries that a part does without stay unloaded.

One interpreter goes through all stages in order, from the lightest to the heaviest.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

LEARNING = ["matplotlib", "stable_baselines3", "torch"]
EVERYTHING = [*LEARNING, "gymnasium", "mujoco", "numba"]
STAGES: dict[str, tuple[str, list[str]]] = {
    "the package": (
        "import ambulo; ambulo.__version__; dir(ambulo)",
        [*EVERYTHING, "numpy", "pydantic"],
    ),
    "the version": (
        "from ambulo.cli import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: pass",
        ["numpy", "torch"],
    ),
    "headers of models": (
        "from ambulo.shipped import shipped_models\n"
        "from ambulo.policies.registry import kind_of, read_header, shipped_cards\n"
        "for file in shipped_models().values(): kind_of(file), read_header(file)\n"
        "assert all(card.headline for card in shipped_cards().values())",
        EVERYTHING,
    ),
    "muscle network": ("import ambulo.muscle.muscle_nn", LEARNING),
    "IK solver": ("import ambulo.ik.solver.solver", LEARNING),
    "gait network": (
        "import ambulo; ambulo.load('gait_net')",
        [*LEARNING, "filelock"],
    ),
    "environments": (
        "import ambulo.envs, ambulo.envs.locomotion.env, ambulo.envs.vr.task.env",
        LEARNING,
    ),
    "agents": (
        "import ambulo\n"
        "for name in ('walk_commands', 'motion_nn', 'gait_estimator'): ambulo.load(name)",
        ["torch._dynamo"],
    ),
}
"""What is run, and the modules that must not be loaded after it."""

CODE = """
import contextlib, io, json, sys
loaded = {}
for stage, (code, modules) in json.loads(sys.argv[1]).items():
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    loaded[stage] = [name for name in modules if name in sys.modules], printed.getvalue()
print(json.dumps(loaded))
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, tuple[list[str], str]]:
    """Unwanted modules after each stage, and what the stage printed."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(STAGES)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_heavy_is_loaded(
    stage: str, loaded: dict[str, tuple[list[str], str]]
) -> None:
    assert loaded[stage][0] == []


def test_the_version_is_printed(loaded: dict[str, tuple[list[str], str]]) -> None:
    assert loaded["the version"][1].startswith("ambulo ")
