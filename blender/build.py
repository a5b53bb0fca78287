"""Build the Blender extension: one zip with the add-on and the wheels that it needs.

    python blender/build.py                         # for this platform, into dist/
    python blender/build.py --platform windows-x64  # for another one
    blender --command extension install-file -r user_default -e dist/ambulo_ik-*.zip

The wheels are those of blender/requirements.txt, fetched by pip, and one of `ambulo` with
the folders that inverse kinematics uses (no environments, no training, no torch).
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EXTENSION = HERE / "ambulo_ik"

PLATFORMS: dict[str, tuple[str, ...]] = {
    "linux-x64": (
        "manylinux_2_28_x86_64",
        "manylinux_2_17_x86_64",
        "manylinux2014_x86_64",
    ),
    "macos-arm64": ("macosx_14_0_arm64", "macosx_12_0_arm64", "macosx_11_0_arm64"),
    "windows-x64": ("win_amd64",),
}
"""Blender's names of platforms, and the tags of wheels that run there; those for which
llvmlite still makes wheels (no longer for Macs with Intel processors)."""

OWN = (
    "configs", "ik", "motion",
    "policies/__init__.py",
    "policies/agents/__init__.py",
    "policies/agents/body_tracker.py",
    "policies/files/__init__.py",
    "policies/files/archive.py",
    "policies/files/headers.py",
    "policies/files/weights.py",
    "policies/files/spec.py",
    "policies/kinds/__init__.py",
    "policies/kinds/body_tracker.py",
)  # fmt: skip
"""Folders and files that the wheel of `ambulo` holds: of the rest of the suite only what
reads model files of body trackers is used in Blender."""
MODELS = ("ik_net", "ik_trackers")
"""Trained networks, which come along where they are."""
ENDINGS = {".json", ".py", ".safetensors", ".zip"}

_EPOCH = (1980, 1, 1, 0, 0, 0)


def main(argv: list[str] | None = None) -> int:
    """Build and say where the zip is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--platform", choices=PLATFORMS, default=this_platform())
    parser.add_argument(
        "--out", type=Path, default=ROOT / "dist", help="folder of the zip"
    )
    args = parser.parse_args(argv)
    made = build(args.platform, args.out)
    print(f"{made}: {made.stat().st_size / 1e6:.0f} MB")
    return 0


def this_platform() -> str:
    """Blender's name of the platform that this runs on."""
    if sys.platform == "darwin":
        return "macos-arm64"
    return "windows-x64" if sys.platform == "win32" else "linux-x64"


def build(platform: str, out: Path) -> Path:
    """The zip of the extension for `platform`, written into the folder `out`."""
    manifest = (EXTENSION / "blender_manifest.toml").read_text(encoding="utf-8")
    version = tomllib.loads(manifest)["version"]
    with tempfile.TemporaryDirectory() as scratch:
        wheels = [own_wheel(Path(scratch)), *fetched_wheels(platform, Path(scratch))]
        names = sorted(wheel.name for wheel in wheels)
        # Top-level keys must stand before the tables of a TOML file.
        listing = "".join(f'    "./wheels/{name}",\n' for name in names)
        keys = f'platforms = ["{platform}"]\nwheels = [\n{listing}]\n\n'
        head, bracket, tables = manifest.partition("[permissions]")
        out.mkdir(parents=True, exist_ok=True)
        target = out / f"ambulo_ik-{version}-{platform}.zip"
        unfinished = target.with_suffix(".zip.tmp")
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as package:
            _add(
                package,
                "blender_manifest.toml",
                (head + keys + bracket + tables).encode(),
            )
            _add(package, "LICENSE", (ROOT / "LICENSE").read_bytes())
            for source in sorted(EXTENSION.glob("*.py")):
                _add(package, source.name, source.read_bytes())
            for wheel in sorted(wheels, key=lambda wheel: wheel.name):
                _add(
                    package,
                    f"wheels/{wheel.name}",
                    wheel.read_bytes(),
                    zipfile.ZIP_STORED,
                )
        unfinished.replace(target)
    return target


def fetched_wheels(platform: str, scratch: Path) -> list[Path]:
    """The wheels of blender/requirements.txt for `platform` and Python 3.11."""
    folder = scratch / "fetched"
    tags = [word for tag in PLATFORMS[platform] for word in ("--platform", tag)]
    _pip(
        "download", "--quiet", "--no-deps", "--only-binary=:all:",
        "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "abi3",
        "--abi", "none", *tags, "--dest", str(folder), "-r", str(HERE / "requirements.txt"),
    )  # fmt: skip
    return sorted(folder.glob("*.whl"))


def own_wheel(scratch: Path) -> Path:
    """A wheel of `ambulo` with what is used in Blender alone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    name, version = project["name"], project["version"]
    contents = {
        f"{name}/{file}": (ROOT / "src" / name / file).read_bytes()
        for file in ("__init__.py", "py.typed")
    }
    models = [f"models/{name}" for name in MODELS]
    for folder in (*OWN, *models, "models/__init__.py"):
        place = ROOT / folder
        for file in [place] if place.is_file() else sorted(place.rglob("*")):
            if file.suffix in ENDINGS and file.is_file():
                inside = file.relative_to(ROOT).as_posix()
                # The package of the folder models/ is called ambulo.shipped.
                inside = inside.replace("models/", "shipped/", 1)
                contents[f"{name}/{inside}"] = file.read_bytes()
    info = f"{name}-{version}.dist-info"
    contents[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    # Not what it depends on: Blender installs the wheels that it is given, nothing else.
    contents[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: {project['description']}\nLicense: {project['license']}\n"
    ).encode()
    contents[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: blender/build.py\n"
        b"Root-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = "".join(
        f"{file},sha256={_digest(data)},{len(data)}\n"
        for file, data in contents.items()
    )
    contents[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    target = scratch / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, data in contents.items():
            _add(wheel, file, data)
    return target


def _digest(data: bytes) -> str:
    """As the RECORD of a wheel has it (PEP 376 and 427)."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _add(
    archive: zipfile.ZipFile, name: str, data: bytes, how: int = zipfile.ZIP_DEFLATED
) -> None:
    # Without the time of day, so that the same sources give the same bytes.
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data, compress_type=how)


def _pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
