"""References: what a body follows, with its torque and its balance controller, as one file.

A reference holds one gait, several of ascending speed that `locomote` blends, or one or more
clips that `track` follows.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, short_repr
from ambulo.configs.errors import ConfigError, MotionFileError
from ambulo.configs.json_text import json_value
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import BalanceController
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.motion.formats.disk import read_bytes, write_bytes
from ambulo.motion.formats.npz import packed, unpacked

log = logging.getLogger(__name__)

FORMAT = "ambulo-reference"
"""Value of "format" in a file's header."""
VERSION = 1
"""Version of cycles' files, as ever."""
CLIP_VERSION = 2
"""Version of files that hold clips: earlier programs would repeat them as cycles."""
MAX_GAITS = 32
"""Most gaits of a reference."""
MAX_CLIPS = 512
"""Most clips of a reference."""
_STATES = ("qpos", "qvel", "torque")
"""Arrays of a table."""
_MORE = ("aim", "captured")
"""Further tables of a gait, of the same shapes."""


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """One cycle or clip to follow."""

    table: ReferenceTable
    """Joint states and torques by phase."""
    controller: BalanceController | None
    """Feedback that keeps the body on it; None: no feedback."""
    report: dict[str, float]
    """How physical the cycle is (`envs.reference.cycles.prepare.ReferenceReport`)."""
    name: str = ""
    """Which clip it is, where a reference holds several."""
    captured: ReferenceTable | None = None
    """The clip before it was made feasible, at the same times."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Reference of a character at one control rate."""

    __repr__ = short_repr

    name: str
    """Where it comes from, for example the clip's name."""
    character: str
    """The body that it is made for."""
    control_dt: float
    """Duration of the control step that the balance controllers are made for, [s]."""
    gaits: tuple[ReferenceMotion, ...]
    """One or more, of ascending speed."""
    joints: tuple[str, ...] = ()
    """The body's joints in the order of the columns (`Character.joint_names`); () in files
    without names, whose columns are taken to be in that order."""

    @classmethod
    def of(
        cls,
        name: str,
        character: Character,
        control_dt: float,
        gaits: Iterable[ReferenceMotion],
    ) -> Reference:
        """The reference of `gaits` for a body, with the names of its joints."""
        return cls(
            name, character.name, control_dt, tuple(gaits), character.joint_names
        )

    @property
    def table(self) -> ReferenceTable:
        """The first gait's table."""
        return self.gaits[0].table

    @property
    def controller(self) -> BalanceController | None:
        """The first gait's balance controller."""
        return self.gaits[0].controller

    @property
    def report(self) -> dict[str, float]:
        """The first gait's report."""
        return self.gaits[0].report

    @property
    def speeds(self) -> Floats:
        """Forward speed of each gait, [m/s]. Shape (G,)."""
        return np.array([gait.table.speed for gait in self.gaits])


def reference_bytes(reference: Reference) -> bytes:
    """The reference as the bytes of a safe NPZ file; always the same bytes."""
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION if reference.table.periodic else CLIP_VERSION,
        "name": reference.name,
        "character": reference.character,
        "control_dt": reference.control_dt,
        **({"joints": reference.joints} if reference.joints else {}),
        "gaits": [
            {
                **({"name": gait.name} if gait.name else {}),
                "period": gait.table.period,
                "report": gait.report,
                "dofs": None
                if gait.controller is None
                else gait.controller.dofs.tolist(),
            }
            for gait in reference.gaits
        ],
    }
    arrays: dict[str, NDArray[Any]] = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    }
    for i, gait in enumerate(reference.gaits):
        arrays |= {
            f"{name}_{i}": getattr(gait.table, name) for name in ("stride", *_STATES)
        }
        more = {"aim": gait.table.aim, "captured": gait.captured}
        for kind, table in more.items():
            if table is not None:
                states = {name: getattr(table, name) for name in _STATES}
                arrays |= {f"{kind}_{name}_{i}": states[name] for name in _STATES}
        if gait.controller is not None:
            arrays[f"gains_{i}"] = gait.controller.gains
    return packed(arrays)


def reference_from_bytes(data: bytes, source: str | Path) -> Reference:
    """The reference in `data`; errors name `source`.

    Raises:
        MotionFileError: Damaged, of another kind, or against a rule.
    """
    path = Path(source)
    more = (f"{kind}_{name}" for kind in _MORE for name in _STATES)
    names = ("stride", *_STATES, *more, "gains")
    members = {"header"} | {f"{name}_{i}" for name in names for i in range(MAX_CLIPS)}
    arrays = unpacked(path, data, members, "reference")
    try:
        return _from_arrays(arrays)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        rule = f"is damaged or no reference of the suite ({reason})"
        raise MotionFileError(path, 0, rule) from None


def save_reference(path: str | Path, reference: Reference) -> None:
    """Write `reference`, whole or not at all."""
    write_bytes(Path(path), reference_bytes(reference))


def load_reference(path: str | Path) -> Reference:
    """The reference in the file `path`; `MotionFileError` names the rule it breaks."""
    return reference_from_bytes(read_bytes(Path(path)), path)


def load_reference_for(path: str | Path, character: Character) -> Reference:
    """The reference in the file `path`, whose columns are those of a body.

    Raises:
        MotionFileError: The file breaks a rule.
        ConfigError: As `check_joints`.
    """
    reference = load_reference(path)
    check_joints(reference, character)
    if not reference.joints:
        log.warning(
            "%s: names no joints; its columns are taken in the order of %s: %s",
            path, character.name, ", ".join(character.joint_names),
        )  # fmt: skip
    return reference


def check_joints(reference: Reference, character: Character) -> None:
    """Refuse a reference whose columns are of other joints than the body's.

    Raises:
        ConfigError: They are, by its names; without names nothing is refused.
    """
    if reference.joints in ((), character.joint_names):
        return
    pairs = zip_longest(reference.joints, character.joint_names, fillvalue="none")
    at, (found, own) = next((i, p) for i, p in enumerate(pairs) if p[0] != p[1])
    raise ConfigError(
        f"reference {reference.name}: its joint {at} is {found}, that of {character.name} is "
        f"{own}: its columns are in another order, or of another body"
    )


def is_reference(path: str | Path) -> bool:
    """Whether the file `path` is a prepared reference rather than a clip."""
    if Path(path).suffix.lower() != ".npz":
        return False
    return f'"format": "{FORMAT}"'.encode() in read_bytes(Path(path))[:4096]


def _from_arrays(arrays: dict[str, NDArray[Any]]) -> Reference:
    header = json_value(arrays["header"].tobytes())
    version = header.get("version")
    if header.get("format") != FORMAT or version not in (VERSION, CLIP_VERSION):
        raise ValueError(
            f"format is not {FORMAT!r} version {VERSION} or {CLIP_VERSION}"
        )
    for name, array in arrays.items():
        if name != "header" and not np.isfinite(array).all():
            raise ValueError(f"{name} is not finite")
    rows, periodic = header["gaits"], version == VERSION
    most = MAX_GAITS if periodic else MAX_CLIPS
    if not isinstance(rows, list) or not 1 <= len(rows) <= most:
        raise ValueError(f"expected 1 to {most} {'gaits' if periodic else 'clips'}")
    gaits = tuple(_gait(arrays, i, row, periodic) for i, row in enumerate(rows))
    if periodic:
        _check_cycles(gaits)
    dt = float(header["control_dt"])
    if not 0.0 < dt < 1.0:
        raise ValueError(f"control_dt = {dt}")
    joints = header.get("joints", [])
    if not isinstance(joints, list) or any(type(name) is not str for name in joints):
        raise ValueError("joints are no list of names")
    name, character = str(header["name"]), str(header["character"])
    return Reference(name, character, dt, gaits, tuple(joints))


def _check_cycles(gaits: Sequence[ReferenceMotion]) -> None:
    """`ValueError` for gaits that cannot be blended."""
    if len({len(gait.table.qpos) for gait in gaits}) > 1:
        raise ValueError("gaits have different numbers of phases")
    moved = {
        None if gait.controller is None else tuple(gait.controller.dofs)
        for gait in gaits
    }
    if len(moved) > 1:
        raise ValueError("balance controllers of the gaits move different joints")
    speeds = [gait.table.speed for gait in gaits]
    if sorted(speeds) != speeds:
        raise ValueError("gaits are not of ascending speed")


def _gait(
    arrays: dict[str, NDArray[Any]], i: int, row: dict[str, Any], periodic: bool
) -> ReferenceMotion:
    stride = arrays[f"stride_{i}"]
    qpos, qvel, torque = (arrays[f"{name}_{i}"] for name in _STATES)
    period = float(row["period"])
    if not 0.0 < period <= 60.0:
        raise ValueError(f"period = {period}")
    samples = len(qpos) if qpos.ndim == 2 else 0
    if samples < 1 or stride.shape != (3,) or qvel.shape != torque.shape:
        raise ValueError("tables of the wrong shape")
    if qvel.ndim != 2 or len(qvel) != samples:
        raise ValueError("tables of different length")
    controller = None
    if row["dofs"] is not None:
        dofs = np.array(row["dofs"], dtype=np.int64)
        gains = arrays[f"gains_{i}"]
        if gains.ndim != 3 or gains.shape[1] != len(dofs) or not len(gains):
            raise ValueError("gains of the wrong shape")
        if dofs.min() < 6 or dofs.max() >= qvel.shape[1]:
            raise ValueError("gains move degrees of freedom that are not joints")
        controller = BalanceController(gains, dofs, periodic=periodic)
    aim, captured = (
        _table_like(qpos, qvel, arrays, f"{kind}_{{}}_{i}", (period, stride, periodic))
        for kind in _MORE
    )
    report = {str(name): float(value) for name, value in row["report"].items()}
    table = ReferenceTable(
        period, stride, qpos, qvel, torque, periodic=periodic, aim=aim
    )
    return ReferenceMotion(
        table, controller, report, str(row.get("name", "")), captured
    )


def _table_like(
    qpos: Floats,
    qvel: Floats,
    arrays: dict[str, NDArray[Any]],
    name: str,
    times: tuple[float, Floats, bool],
) -> ReferenceTable | None:
    """A further table whose arrays are called `name` and that is as large as the first."""
    if name.format("qpos") not in arrays:
        return None
    positions, rates, torque = (arrays[name.format(kind)] for kind in _STATES)
    if positions.shape != qpos.shape or not rates.shape == torque.shape == qvel.shape:
        raise ValueError(f"{name.format('qpos')}: tables of different shapes")
    period, stride, periodic = times
    return ReferenceTable(period, stride, positions, rates, torque, periodic=periodic)
