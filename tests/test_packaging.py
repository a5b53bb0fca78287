"""The package mapping of pyproject.toml, the lock, and what git may track."""

from __future__ import annotations

import importlib.metadata
import io
import re
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ambulo
from ambulo import shipped
from ambulo.common.extras import EXTRAS

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
MODELS = tomllib.loads((ROOT / "models" / "pyproject.toml").read_text(encoding="utf-8"))
"""The distribution ambulo-models."""
PACKAGE_DIR = {
    name: ROOT / folder for name, folder in SETUPTOOLS["package-dir"].items()
}

# Top-level folders whose Python files are not part of the installed package.
# The root's own __init__.py serves scripts beside a clone alone.
NOT_SHIPPED = {
    "__init__.py",
    "benchmarks",
    "blender",
    "docs",
    "godot",
    "tests",
    "tools",
}
MADE_BY_TOOLS = {"build", "dist", "node_modules", "out", "runs"}
# Data of agents is covered by a glob, not declared folder by folder.
DATA_ROOTS = {"ambulo.shipped"}

PICKLE_SUFFIXES = {
    ".ckpt", ".dill", ".joblib", ".p", ".pickle", ".pkl", ".pt", ".pth",
}  # fmt: skip
MOCAP_SUFFIXES = {".amc", ".asf", ".bvh", ".c3d", ".fbx", ".trc"}


def package_files() -> dict[str, list[Path]]:
    """Every folder of the tree as a package name, with the files right in it."""
    found: dict[str, list[Path]] = {}
    for package, folder in PACKAGE_DIR.items():
        for file in sorted(folder.rglob("*")):
            inside = file.relative_to(folder).parts[:-1]
            if not file.is_file() or "__pycache__" in inside:
                continue
            name = package if package in DATA_ROOTS else ".".join([package, *inside])
            found.setdefault(name, []).append(file)
    return found


def tracked_files() -> list[Path]:
    """The files that git tracks or would add; without git, the files of the tree."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        files = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        hidden = MADE_BY_TOOLS | {"__pycache__"}
        files = [
            file
            for file in ROOT.rglob("*")
            if not any(
                part in hidden or part.startswith(".")
                for part in file.relative_to(ROOT).parts
            )
        ]
    return [file for file in files if file.is_file()]


def test_declared_packages_are_the_folders_of_the_tree() -> None:
    assert sorted(SETUPTOOLS["packages"]) == sorted(package_files())


def test_every_folder_with_python_files_is_declared_or_known() -> None:
    mapped = {folder.relative_to(ROOT).parts[0] for folder in PACKAGE_DIR.values()}
    holders = {
        file.relative_to(ROOT).parts[0]
        for file in tracked_files()
        if file.suffix == ".py"
    }
    assert holders - mapped - NOT_SHIPPED == set()


def test_every_data_file_is_package_data() -> None:
    """Of one of the two distributions; a model is in one alone."""
    patterns = dict(SETUPTOOLS["package-data"])
    (apart,) = MODELS["tool"]["setuptools"]["package-data"].values()
    assert set(apart).isdisjoint(patterns["ambulo.shipped"])
    assert {pattern.partition("/")[0] for pattern in apart} == set(shipped.ELSEWHERE)
    patterns["ambulo.shipped"] = [*patterns["ambulo.shipped"], *apart]
    left_out = [
        str(file.relative_to(ROOT))
        for package, files in package_files().items()
        for file in files
        if file.suffix != ".py"
        and not (file.suffix in {".md", ".toml"} and file.parent == folder_of(package))
        and not any(
            matches(file.relative_to(folder_of(package)), pattern)
            for pattern in patterns.get(package, [])
        )
    ]
    assert left_out == []


def matches(file: Path, pattern: str) -> bool:
    """Whether setuptools' glob takes `file`: a star never crosses a slash."""
    wanted = pattern.split("/")
    return len(wanted) == len(file.parts) and all(map(fnmatch, file.parts, wanted))


def folder_of(package: str) -> Path:
    """The folder of a declared package; sub-folders inherit the mapping."""
    base = max(
        (name for name in PACKAGE_DIR if f"{package}.".startswith(f"{name}.")), key=len
    )
    return PACKAGE_DIR[base].joinpath(*package.removeprefix(base).split(".")[1:])


def test_no_script_in_train_shadows_an_importable_name() -> None:
    """`python train/x.py` puts train/ first on `sys.path`."""
    names = {entry.stem for entry in (ROOT / "train").iterdir()} - {"__init__"}
    importable = sys.stdlib_module_names | set(
        importlib.metadata.packages_distributions()
    )
    assert names & importable == set()


@pytest.mark.parametrize("command", sorted(PROJECT["project"]["scripts"]))
def test_each_command_has_its_main_function(command: str) -> None:
    module, function = PROJECT["project"]["scripts"][command].split(":")
    package, _, stem = module.rpartition(".")
    source = (folder_of(package) / f"{stem}.py").read_text(encoding="utf-8")
    assert re.search(rf"^(def )?{function}( = |\()", source, re.MULTILINE)


@pytest.mark.slow  # the wheel check of CI makes every environment so
def test_the_bare_environments_need_nine_packages() -> None:
    """All others can be absent; who needs one is told the extra that brings it."""
    assert len(PROJECT["project"]["dependencies"]) == 9
    names = {
        canonicalize_name(Requirement(text).name)
        for text in PROJECT["project"]["optional-dependencies"]["train"]
    }
    assert {canonicalize_name(module) for module in EXTRAS["train"]} == names
    code = f"""
import sys
for name in {EXTRAS["train"]!r}:
    sys.modules[name] = None
import ambulo, gymnasium
from ambulo.cli import main
ambulo.register()
for name in [name for name in gymnasium.registry if name.startswith("ambulo/")]:
    # The walker of a simulated body is a policy, which needs torch; a body tracker's
    # weights need safetensors; a game needs an engine.
    if "TrackBody" in name or "Godot" in name:
        continue
    more = {{"body": "twin"}} if "Embodied" in name else {{}}
    env = ambulo.make_vec(name, 2, **more)
    env.reset(seed=0)
    env.step(env.action_space.sample())
try:
    ambulo.load("vr_navigation")
except ImportError as error:
    print(error)
try:
    ambulo.make("EmbodiedNavigation-v0")
except ambulo.envs.AmbuloError as error:
    print(error)
print(main(["eval", "vr_navigation"]))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    *told, exit_code = result.stdout.splitlines()
    assert len(told) == 2
    for text in (*told, result.stderr):
        assert re.search(r"needs the package \w+, .*install 'ambulo\[train\]'", text)
    assert exit_code == "2"


def test_version_is_the_same_everywhere() -> None:
    version = PROJECT["project"]["version"]
    assert MODELS["project"]["version"] == version
    assert ambulo.__version__ == version
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_lock_pins_every_declared_dependency() -> None:
    pins: dict[str, str] = {}
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        pin = Requirement(line)
        [specifier] = pin.specifier
        assert specifier.operator == "==", line
        assert re.fullmatch(r"[0-9a-z.]+", specifier.version), line
        pins[canonicalize_name(pin.name)] = specifier.version
    assert next(iter(pins)) == "torch"

    extras = PROJECT["project"]["optional-dependencies"]
    groups = (extras[name] for name in ("train", "dev", "docs"))
    wanted = [*PROJECT["project"]["dependencies"], *chain(*groups)]
    for text in wanted:
        requirement = Requirement(text)
        version = pins[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{text} but {version}"


def test_no_pickle_is_in_the_repository() -> None:
    pickles = []
    for file in tracked_files():
        with file.open("rb") as stream:
            start = stream.read(2)
        by_content = len(start) == 2 and start[0] == 0x80 and 2 <= start[1] <= 5
        if file.suffix.lower() in PICKLE_SUFFIXES or by_content:
            pickles.append(str(file.relative_to(ROOT)))
        if file.suffix.lower() == ".zip":
            check_model_file(file)
    assert pickles == []


def check_model_file(path: Path, data: bytes | None = None) -> None:
    """A model file holds weights and JSON, and gaits as arrays that hold no objects.

    A cascade holds such files and JSON.
    """
    with zipfile.ZipFile(path if data is None else io.BytesIO(data)) as archive:
        members = set(archive.namelist())
        if "cascade.json" in members:
            for name in members - {"cascade.json"}:
                assert re.fullmatch(r"nodes/\w+\.zip", name), path
                check_model_file(path, archive.read(name))
            return
        gaits = {name for name in members if re.fullmatch(r"reference_\d\.npz", name)}
        assert members - gaits == {"ambulo.json", "policy.safetensors"}, path
        for name in gaits:
            with np.load(io.BytesIO(archive.read(name)), allow_pickle=False) as arrays:
                assert all(arrays[key].dtype != object for key in arrays), path


def test_no_captured_motion_is_in_the_repository() -> None:
    """Recordings have licenses of their own; tests/data is made by our own code."""
    recordings = [
        str(file.relative_to(ROOT))
        for file in tracked_files()
        if file.suffix.lower() in MOCAP_SUFFIXES
        and not file.is_relative_to(ROOT / "tests" / "data")
    ]
    assert recordings == []
