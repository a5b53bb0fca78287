"""Programs and devices beside Python: the system, Godot, Blender, Node.js, OpenGL, GPUs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ambulo.common.run_folder import installed_version
from ambulo.configs.errors import BridgeError, RenderError

TIMEOUT = 60.0
"""Time limit for a program to print its version, [s]."""
LINUX_ALONE = (
    "engines and clusters that end with a training that is killed, `make fuzz`, "
    "benchmarks that read /proc"
)
"""Features that run on Linux alone."""
_TORCH = (
    "import torch; print(torch.version.cuda or 'none', torch.cuda.device_count(), "
    "sep='\\n')"
)


@dataclass(frozen=True)
class Engine:
    """A program or device that some parts need."""

    name: str
    """Its name."""
    found: bool
    """Whether it can be used."""
    detail: str
    """Version and place if found, else the reason."""
    needed_for: str
    """Features that need it."""


def engines() -> list[Engine]:
    """Return the state of everything that pip does not install."""
    checks: Sequence[Callable[[], Engine]] = (
        system,
        godot,
        blender,
        node,
        ray,
        opengl,
        gpu,
    )
    return [check() for check in checks]


def system() -> Engine:
    """Return whether this is the system that all is tested on."""
    name = platform.system() or sys.platform
    if name == "Linux":
        return Engine("System", True, name, "")
    return Engine("System", False, f"{name}; Ambulo is tested on Linux", LINUX_ALONE)


def node() -> Engine:
    """Return the state of Node.js with npm."""
    purpose = "`ambulo page build`"
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        lacking = "node" if program is None else "npm"
        return Engine("Node.js", False, f"no program {lacking}", purpose)
    said = _first_line([program, "--version"]) or "unknown version"
    return Engine("Node.js", True, f"{said} at {program}", purpose)


def godot() -> Engine:
    """Return the state of the Godot engine that the bridge would start."""
    from ambulo.envs.godot.locate import check_version, find_engine

    purpose = "`--world godot`: training and playing in the engine"
    try:
        program = find_engine()
        check_version(program)
    except BridgeError as error:
        return Engine("Godot", False, str(error), purpose)
    version = _first_line([str(program), "--version"]) or "unknown version"
    return Engine("Godot", True, f"{version} at {program}", purpose)


def blender() -> Engine:
    """Return the state of Blender: the program, or the module `bpy`."""
    purpose = "the extension for armatures (docs/ik_blender.md)"
    module = installed_version("bpy")
    program = shutil.which("blender")
    if program is not None:
        said = _first_line([program, "--version"]) or "unknown version"
        return Engine("Blender", True, f"{said} at {program}", purpose)
    if module is not None:
        return Engine("Blender", True, f"module bpy {module}", purpose)
    return Engine("Blender", False, "no program blender, no module bpy", purpose)


def ray() -> Engine:
    """Return the state of Ray, and the cluster that the environment names."""
    purpose = "`--engine ray`: work on many machines"
    version = installed_version("ray")
    if version is None:
        return Engine("Ray", False, "pip install 'ambulo[ray]'", purpose)
    address = os.environ.get("RAY_ADDRESS")
    where = f", cluster {address} (RAY_ADDRESS)" if address else ", this machine alone"
    return Engine("Ray", True, version + where, purpose)


def opengl() -> Engine:
    """Return whether MuJoCo can draw pictures without a window."""
    from ambulo.envs.offscreen import gl_backend

    purpose = "films and pictures of bodies"
    try:
        return Engine("OpenGL", True, f"MuJoCo draws with {gl_backend()}", purpose)
    except RenderError as error:
        return Engine("OpenGL", False, str(error), purpose)


def gpu() -> Engine:
    """Return the NVIDIA devices, and whether the installed torch uses them."""
    purpose = "`--device cuda` and `--backend warp`"
    program = shutil.which("nvidia-smi")
    query = ["--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    device = None if program is None else _first_line([program, *query])
    if device is None:
        return Engine("GPU", False, "no NVIDIA device (nvidia-smi)", purpose)
    if installed_version("torch") is None:
        return Engine("GPU", False, f"{device}; torch is not installed", purpose)
    cuda, count = (_lines([sys.executable, "-c", _TORCH]) or ["none", "0"])[:2]
    if cuda == "none" or count == "0":
        reason = "torch is a CPU build" if cuda == "none" else "torch sees no device"
        return Engine("GPU", False, f"{device}; {reason}", purpose)
    return Engine("GPU", True, f"{device}; torch with CUDA {cuda}", purpose)


def _first_line(command: Sequence[str]) -> str | None:
    """Return the first line that a program prints; None if it fails."""
    lines = _lines(command)
    return lines[0] if lines else None


def _lines(command: Sequence[str]) -> list[str]:
    """Return the lines that a program prints; none if it fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=TIMEOUT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode != 0:
        return []
    text = done.stdout.decode("utf-8", "replace")
    return [line.strip() for line in text.splitlines() if line.strip()]
