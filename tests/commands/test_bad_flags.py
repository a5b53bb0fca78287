"""All commands but `ambulo eval`: bad flags are one line, and nothing is written."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from fixtures.exits import refusal
from fixtures.motion import make_walk

from ambulo import cli
from ambulo.motion.formats.files import write_motion

LEVEL = (
    Path(__file__).parents[1] / "data" / "playtest" / "apartment_sealed_bathroom.json"
)
TO_NPZ = ". out --to npz"
CASES = {
    "body check": {
        "nobody": "unknown character 'nobody'",
        "none.xml": "none.xml: cannot be read",
    },
    "completion": {"tcsh": "tcsh"},
    "data convert": {
        "a.bvh x.npz --workers 2": "are for folders",
        f"{TO_NPZ} --engine rai": "did you mean 'ray'",
        f"{TO_NPZ} --address x:1": "needs --engine ray",
        "a.bvh x.fbx": "x.fbx: cannot write this format",
        "a.bvh x": "x: cannot write this format",
        "a.bvh x.npz --to npz": "--to is for folders",
        "a.bvh none/x.npz": "none: no such folder",
        "none.bvh x.npz": "none.bvh: no such file or folder",
        ". out": "a folder needs --to",
        ". out --to fbx": "--to fbx: cannot write",
        ". a.bvh --to npz --force": "expected a folder",
        "a.bvh x.npz --fps 0": "--fps 0",
        "a.bvh x.npz --fps nan": "--fps nan",
        "a.bvh x.npz --fps 1e7": "--fps 1e+07",
        "a.bvh x.npz --filter -1": "--filter -1",
        "a.bvh x.npz --filter 60": "cut-off 60 Hz",
        "a.bvh x.npz --units miles": "miles",
        "a.bvh x.bvh --out-units 0": "got 0.0",
        "a.bvh x.npz --out-units cm": "NPZ is always in metres",
        f"{TO_NPZ} --out-units cm": "always in metres",
        "a.bvh x.npz --skeleton human2": "human23",
        "a.bvh x.npz --fit-lengths": "needs --skeleton",
        "c.amc x.npz --asf none.asf": "none.asf: no such file",
        "d.bvh x.npz": "d.bvh: line",
    },
    "data fetch cmu --to new": {
        "--subjects 2,x": "expected numbers from 1 to 999",
        "--subjects 2 --base-url ftp://x": "expected http://",
        "--subjects 2 --timeout nan": ": above 0, at most a day",
        "--subjects 2 --timeout inf": ": above 0, at most a day",
        "--subjects 2 --checksums none.json": "none.json",
    },
    "data plot": {
        ".": "draws one file",
        "none.bvh": "none.bvh: no such file",
        "d.bvh": "d.bvh: line",
        "a.bvh --out x.jpg": "must end in .png",
        "a.bvh --out none/x.png": "none: no such folder",
        "a.bvh --gif x.mp4": "must end in .gif",
        "a.bvh --no-sheet": "nothing to draw",
        "a.bvh --poses 0": "--poses 0",
        "a.bvh --start 9": "nothing from 9 s",
        "a.bvh --frames 9": "--frames 9: expected A:B",
        "a.bvh --frames 9:900": "the clip has the frames 0:60",
        "a.bvh --frames 9:50 --stop 0.1": "--start and --stop cut",
    },
    "export": {
        "gait_walk --out w.json": "gait_walk: not as json: models of the kind locomotion "
        "can be exported as onnx (.onnx) only",
        "motion_nn --out w.ambulo": "motion_nn: not as godot: models of the kind",
        "gait_law --out w.onnx": "kind gait_reference cannot be exported",
        "gait_walkk --out w.onnx": "did you mean 'gait_walk'",
        "gait_walk --out w.txt": "must end in .onnx, .json or .ambulo",
        "human24 --mjcf --out w": "unknown character 'human24'",
        "human23 --mjcf --out h.xml": "several files; name a new folder",
        "human23 --mjcf --target onnx --out w": "--target: does not go",
        "human23 --mjcf --body gait_net --out w": "--body: does not go",
        "vr_navigation --out a.onnx --body gait_net": "--body: goes with",
        "gait_net --out a.ambulo --body gait_net": "--body: goes with",
        "vr_navigation --out a.ambulo --body ik_net": "--body ik_net: expected a gait net",
        "vr_navigation --out a.ambulo --body gait_nett": "did you mean 'gait_net'",
        "gait_net_impaired --out a.ambulo": "has learnt one stride alone",
    },
    "fit": {
        "a.bvh --frames half": "--frames half: expected A:B",
        "a.bvh --frames 40:10": "--frames 40:10: A must be below B in A:B",
        "a.bvh --frames 0:99999": "the clip has the frames 0:",
        "a.bvh --frames 0:4": "a clip to follow lasts",
        "a.bvh --out x.txt": "a reference ends in .npz",
        "a.bvh --film x.avi": "must end in .mp4 or .gif",
        "a.bvh --body horse": "horse",
        "a.bvh c.amc": "--out names a folder",
        "a.bvh c.amc --out o --frames 0:9": "--frames is for one clip",
        "a.bvh c.amc --out o --film x.gif": "--film is for one clip",
        "a.bvh c.amc --out o --speed 0.5": "--speed is for one clip",
    },
    "fit-twin --out twin.json": {
        "imitate_walk": "walker = imitate_walk: its task, imitate, takes no commands",
        "locomot": "walker = locomot: no such model file",
        "locomote --fastest 0": "--fastest 0: must be over 0 m/s",
        "locomote --fastest nan": "--fastest nan: must be over 0 m/s",
        "locomote --fastest 0.4": "--fastest 0.4: locomote is measured from 0.6 m/s on",
        "locomote --body myolegs": "trained for human23, not for body = myolegs",
    },
    "gait estimate": {
        "nothing.bvh": "no such file",
        ".": "one file, not a folder",
        "a.bvh": "no steady stride",
        "a.bvh --set stride=4": "stride = 4",
    },
    "gait generate": {
        "--stride 1.6 --out w.bvh": "stride = 1.6: must be in [",
        "--set global=nan --out w.bvh": "global = nan",
        "--set globl=1 --out w.bvh": "did you mean 'global'",
        "--set global --out w.bvh": "expected NAME=VALUE",
        "--out w.xyz": "must end in .bvh",
        "--cycles 0 --out w.bvh": "--cycles 0",
        "--out nowhere/w.bvh": "no such folder",
        "": "--out FILE",
    },
    "playtest": {
        "missing.json": "missing.json: no such level file or folder",
        "sealed.json --agent planer": "no model 'planer' (did you mean 'planner'",
        "sealed.json --agent stand": "--agent stand: never walks",
        "sealed.json --agent locomote": "locomote",
        "sealed.json --compare missing.json": "missing.json: no such level",
        "sealed.json --json no/folder/x.json": "no/folder: no such folder",
    },
    "rollouts --out .": {
        "gait_net": "acts in no environment",
        "no_such": "no such model file",
        "vr_navigation --id 'a b'": "expected NAMESPACE/NAME-v0",
    },
    "sweep": {
        "": "name a training, before its flags: ambulo sweep KIND PRESET",
        "--epochs 2 muscle": "name a training, before its flags",
        "--seeds 2 muscle quick_tes": "did you mean 'quick_test'",
        "muscle --seeds 2 quick_test --name a/b": "--name a/b",
        "muscle quick_test --parallel 0": "--parallel 0",
        "muscle quick_test --name a/b": "--name a/b",
        "muscle quick_test --seed 1": "--seed is no flag of ambulo sweep",
        "muscle quick_test --address a:1": "--address needs --engine ray",
        "muscle quick_test --score x": "unknown score 'x'",
        "muscle quick_test --set network.steps=1,oops": "network.steps",
        "muscle quick_test --set network.steps=100,1e2": "are the same",
    },
    "track-server --seconds 1": {
        "--bind 0.0.0.0": "is open to the network; --secret-file FILE",
        "--no-udp --no-websocket": "nothing would be served",
        "--model nothing": "no such model",
        "--bind 192.0.2.1 --secret-file key": "cannot be bound",
        "--secret-file none": "none",
        "--origin foo": "--origin foo: expected scheme and host",
    },
    "tune": {
        "muscle quick_test --trials 0": "--trials 0",
        "muscle quick_test --search network.learning_rate=1": "two or more different values",
        "muscle quick_test --search network.learning_rat=1:2":
        "did you mean 'network.learning_rate'",
        "muscle quick_test --search network.batch_size=0:4": "network.batch_size=0:4",
        "muscle quick_test --storage nothing://x --output .": "--storage nothing://x",
        "vr quick_test --eval-freq 0": "a search needs evaluations",
    },
}  # fmt: skip
"""Expected message by command and flags."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of good clips, a damaged one, a level and a secret."""
    folder = tmp_path_factory.mktemp("inputs")
    walk = make_walk()
    write_motion(folder / "a.bvh", walk)
    write_motion(folder / "c.amc", walk[:20])
    (folder / "d.bvh").write_text((folder / "a.bvh").read_text()[:-40])
    shutil.copy(LEVEL, folder / "sealed.json")
    (folder / "key").write_text("correct horse")
    return folder


@pytest.mark.parametrize(
    ("command", "flags", "message"),
    [(command, *case) for command, cases in CASES.items() for case in cases.items()],
)
def test_a_bad_flag_is_one_line_and_nothing_is_written(
    command: str,
    flags: str,
    message: str,
    inputs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(inputs)
    before = sorted(inputs.rglob("*"))
    words = [*command.split(), *shlex.split(flags)]
    assert message in refusal(cli.main, words, capsys)
    assert sorted(inputs.rglob("*")) == before
