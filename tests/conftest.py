"""Settings and fixtures that all tests share."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.skip_table import skip_table
from hypothesis import settings

# Workers of a parallel test run share the cores; child processes inherit this too. NumPy
# reads it when it is loaded, so that nothing that loads it is imported above.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Compiling kernels makes many objects and many error messages that nobody reads: without
# colours in these and with fewer collections it takes an eighth less.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
gc.set_threshold(50_000, 10, 10)
# Models that the user has pulled are not those that tests count.
os.environ["AMBULO_MODELS"] = str(Path(__file__).with_name("no_models"))

settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def godot_program() -> Path:
    """The Godot program, our project imported; without one, tests skip, but not in CI."""
    from ambulo.configs.errors import BridgeError
    from ambulo.envs.godot.locate import find_engine, find_project, import_project

    try:
        found = find_engine()
    except BridgeError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    import_project(found, find_project())
    return found


@pytest.fixture(scope="session")
def gl() -> None:
    """A test that asks for this is skipped where MuJoCo cannot draw."""
    from ambulo.configs.errors import RenderError
    from ambulo.envs.offscreen import gl_backend

    try:
        gl_backend()
    except RenderError as error:
        pytest.skip(str(error))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs an engine as `integration`, before markers are selected."""
    for item in items:
        if "godot_program" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.integration)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> None:
    """Print what was skipped for want of what, and how to get it."""
    skipped = terminalreporter.stats.get("skipped", [])
    lines = list(skip_table(str(report.longrepr[2]) for report in skipped))
    if lines:
        terminalreporter.section("not run here")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def _one_torch_thread() -> None:
    """Keep torch on one thread, in the tests that have loaded it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Take back the handlers and levels of commands: their streams close with the test."""
    root, own = logging.getLogger(), logging.getLogger("ambulo")
    handlers, levels = list(root.handlers), (root.level, own.level)
    yield
    for handler in [h for h in root.handlers if h not in handlers]:
        if type(handler) is logging.StreamHandler:
            root.removeHandler(handler)
    root.setLevel(levels[0])
    own.setLevel(levels[1])


@pytest.fixture
def tmp_full_disk(tmp_path: Path) -> Iterator[Path]:
    """An empty folder on a real file system of 256 KiB: writing more fails (ENOSPC)."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root on Linux")
    folder = tmp_path / "full_disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
