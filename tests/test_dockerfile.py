"""The Dockerfile: rules that a linter checks, and a build where Docker runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD_SECONDS = 1800


@pytest.fixture(scope="module")
def structure() -> list[dict[str, str]]:
    """The instructions, each with its value, continued lines joined."""
    parse = pytest.importorskip("dockerfile_parse", reason="needs dockerfile-parse")
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    parser = parse.DockerfileParser(path=str(ROOT / "Dockerfile"), cache_content=True)
    assert parser.content == text
    return [row for row in parser.structure if row["instruction"] != "COMMENT"]


def values(structure: list[dict[str, str]], instruction: str) -> list[str]:
    return [row["value"] for row in structure if row["instruction"] == instruction]


def test_bases_are_pinned_to_a_version_that_the_project_supports(
    structure: list[dict[str, str]],
) -> None:
    bases = values(structure, "FROM")
    assert structure[0]["instruction"] == "FROM"
    assert all(re.match(r"python:3\.1[1-3]-slim", b) for b in bases)


def test_it_runs_as_a_user_without_rights(structure: list[dict[str, str]]) -> None:
    (user,) = values(structure, "USER")
    assert user not in ("root", "0")
    assert any(
        re.search(rf"useradd .*\b{user}\b", text) for text in values(structure, "RUN")
    )
    after = [row["instruction"] for row in structure]
    assert "RUN" not in after[after.index("USER") :]


def test_packages_leave_no_lists_and_no_caches(structure: list[dict[str, str]]) -> None:
    runs = values(structure, "RUN")
    for text in runs:
        if "apt-get install" in text:
            assert "--no-install-recommends" in text
            assert "apt-get update" in text
            assert "rm -rf /var/lib/apt/lists/*" in text
        assert "sudo" not in text
    if any("pip install" in text for text in runs):
        assert any("PIP_NO_CACHE_DIR=1" in text for text in values(structure, "ENV"))
    assert not values(structure, "ADD")


def test_start_is_a_list_of_words(structure: list[dict[str, str]]) -> None:
    assert values(structure, "ENTRYPOINT") == ['["ambulo"]']
    assert values(structure, "CMD") == ['["doctor"]']


def test_what_is_copied_exists_and_is_not_ignored(
    structure: list[dict[str, str]],
) -> None:
    ignored = ignore_rules()
    for text in values(structure, "COPY"):
        if text.startswith("--from="):
            continue
        for source in text.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert source not in ignored


def test_ignored_files_are_not_needed_by_the_build() -> None:
    """setuptools needs the mapped folders, the readme and the license."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {
        path.split("/")[0]
        for path in project["tool"]["setuptools"]["package-dir"].values()
    }
    needed = folders | {"README.md", "LICENSE", "pyproject.toml", "requirements.lock"}
    assert needed & ignore_rules() == set()
    assert {".git", "runs", "docs", "tests"} <= ignore_rules()


def ignore_rules() -> set[str]:
    text = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    return {line for line in text.splitlines() if line and not line.startswith("#")}


@pytest.mark.slow
def test_image_builds_and_is_healthy() -> None:
    docker = shutil.which("docker") or shutil.which("podman")
    asked = [docker or "docker", "info"]
    if docker is None or _fails(asked):
        pytest.skip("no container engine runs on this machine")
    subprocess.run(
        [docker, "build", "-t", "ambulo-test", str(ROOT)],
        check=True, timeout=BUILD_SECONDS,
    )  # fmt: skip
    done = subprocess.run(
        [docker, "run", "--rm", "ambulo-test"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def _fails(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode != 0
