"""The Python that README and guides show runs as it stands there, page by page."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from fixtures.motion import cmu  # noqa: F401

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
NOT_RUN = {
    "godot_agents.md": "needs a game; tests/envs/godot/agents does the same",
    "godot_api.md": "speaks to a game that runs; tests/envs/godot does",
    "ik_blender.md": "runs inside Blender; tests/blender does the same",
    "trackers_stream.md": "speaks to a server that runs; tests/commands/trackers does",
    "locomotion_training.md": "loads a run that takes minutes; tests/train does",
}
"""Pages whose Python is not run here, and why."""
PAGES = list({
    tuple(blocks): page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if (blocks := BLOCK.findall(page.read_text(encoding="utf-8")))
    and page.name not in NOT_RUN
}.values())  # fmt: skip
"""The other pages with Python; of pages that show the same, one."""
SLOW = {"comfort.md", "embodied.md", "gpu.md", "locomotion_envs.md", "motion_datasets.md",
        "track_body.md", "vr_navigation.md", "wrappers.md"}  # fmt: skip
"""Pages whose Python takes more than a few seconds."""
CLIPS = {"locomotion_envs.md", "motion_datasets.md"}
"""Pages that read captured motion."""
LEFT_OUT = {"locomotion_envs.md": "load_fault"}  # a file that only an explosion writes
"""Blocks of a page with this word are left out."""
BEFORE = {
    "comfort.md": """
from pathlib import Path
from ambulo.configs.vr import NavigationConfig
from ambulo.policies.files.model_file import save_model
from fixtures.untrained import untrained_navigator
config = NavigationConfig().override("observations", comfort=True)
save_model(Path("model.zip"), untrained_navigator(config))
""",
    "export.md": """
from ambulo.cli import main
assert main(["export", "locomote", "--out", "walker.onnx"]) == 0
""",
    "model_format.md": """
from ambulo.cli import main
assert main(["export", "vr_navigation", "--out", "model.json"]) == 0
""",
    "motion_data.md": """
from ambulo.motion.formats.files import write_motion
from fixtures.motion import make_walk
for name in ("walk", "run"):
    write_motion(f"{name}.bvh", make_walk(20))
""",
    "motion_datasets.md": """
from pathlib import Path
Path("runs/mine").mkdir(parents=True)
""",
    "motion_files.md": """
from ambulo.motion.formats.files import write_motion
from fixtures.motion import make_walk
write_motion("07_01.amc", make_walk(20))
""",
    "motion_retarget.md": """
from pathlib import Path
from ambulo.motion.formats.files import write_motion
from fixtures.motion import make_walk
Path("07").mkdir()
write_motion("07/07_01.amc", make_walk(20))
""",
    "track.md": """
from ambulo.motion.formats.files import write_motion
from fixtures.motion import make_walk
write_motion("walk.bvh", make_walk(20))
""",
    "motion_nn.md": """
import numpy as np, torch
states = np.zeros((2, 10, 112), np.float32)
states[..., 7:] = 0.01
states_of_torch = torch.as_tensor(states)
""",
}
"""What a page takes for granted."""


@pytest.mark.integration
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page.name in SLOW else [])
        for page in PAGES
    ],
    ids=lambda page: page.name,
)
def test_code_of_a_page_runs_from_top_to_bottom(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if page.name in CLIPS:
        copy_clips(request.getfixturevalue("cmu"), tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    for block in (BEFORE.get(page.name, ""), *blocks):
        if LEFT_OUT.get(page.name, "\0") not in block:
            exec(compile(block, page.name, "exec", dont_inherit=True), names)


def copy_clips(source: Path, folder: Path) -> None:
    """Lay out the clips that the pages name."""
    clips, data = source / "asfamc", folder / "data"
    for file in ("02/02_01.amc", "02/02.asf"):
        shutil.copy(clips / file, folder)
    shutil.copytree(clips / "02", data / "cmu" / "02")
    shutil.copytree(source / "bvh_mb" / "12", data / "cmu" / "12")
    for subject in ("01", "03", "07"):
        shutil.copytree(clips / subject, data / "cmu_more" / subject)


NAMES = re.compile(r"`(?:ambulo\.)?([a-z_]+(?:\.\w+)+)|`([a-z_]+/[\w/]*)`")
FOLDERS = {path.parent.name for path in ROOT.glob("*/__init__.py")}
FILE_ENDINGS = {"json", "npz", "py", "md", "zip", "safetensors"}


def code_exists(parts: list[str]) -> bool:
    """Whether a dotted name leads to a folder, a module, or a word of that module."""
    place = ROOT
    for i, part in enumerate(parts):
        if (place / part).is_dir():
            place /= part
            continue
        module = place / f"{part}.py"
        if not module.is_file():
            module, rest = place / "__init__.py", [part]
        else:
            rest = parts[i + 1 : i + 2]
        text = module.read_text(encoding="utf-8")
        return all(re.search(rf"\b{word}\b", text) for word in rest)
    return True


def test_code_that_guides_name_is_there() -> None:
    """Dotted names and folders in backticks, as modules move."""
    stale = []
    cards = ROOT.glob("models/*/README.md")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *cards):
        for name, folder in NAMES.findall(page.read_text(encoding="utf-8")):
            parts = name.split(".") if name else folder.rstrip("/").split("/")
            if parts[0] not in FOLDERS or parts[-1] in FILE_ENDINGS:
                continue
            if not code_exists(parts):
                stale.append(f"{page.name}: {name or folder}")
    assert not stale


REFERENCE = {"godot_api", "model_format", "results", "rig_protocol", "trackers_stream",
             "vr_world"}  # fmt: skip
"""Pages that other programs are written by, and the table of results: complete, not short."""
MOST_WORDS = 25_000
CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def test_guides_are_short() -> None:
    """What is generated from the code (environments, commands, presets) is told there alone."""
    words = {
        page.stem: len(CODE.sub("", page.read_text(encoding="utf-8")).split())
        for page in (ROOT / "docs").glob("*.md")
        if page.stem not in REFERENCE
    }
    assert sum(words.values()) <= MOST_WORDS
