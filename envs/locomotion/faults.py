"""Simulations that explode: the state that led to it as a file, and its replay."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.atomic import probe_folder
from ambulo.configs.errors import ConfigError, MotionFileError
from ambulo.configs.json_text import json_value
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.envs.simulation.simulation import FAULTS
from ambulo.envs.simulation.variants import NOMINAL
from ambulo.motion.formats.disk import read_bytes, write_bytes
from ambulo.motion.formats.npz import packed, unpacked

log = logging.getLogger(__name__)


FORMAT = "ambulo-fault"
"""Value of "format" in a file's header."""
_STATE = "state."
"""Begins the names of the batch's own arrays in a file."""


@dataclass(frozen=True, eq=False)
class StepBegin:
    """Everything that a control step begins with, of all bodies of a batch."""

    arrays: dict[str, NDArray[np.generic]]
    """`WalkerBatch.state_dict`."""
    random: list[dict[str, Any]]
    """States of the bodies' generators."""

    @classmethod
    def of(cls, batch: WalkerBatch) -> StepBegin:
        """Return copies of the current state of `batch`."""
        states: list[dict[str, Any]] = [
            dict(rng.bit_generator.state) for rng in batch.rngs
        ]
        return cls(batch.state_dict(), states)


def check_fault_folder(folder: str | None) -> None:
    """Make the folder of faults; `ConfigError` where it cannot be written."""
    if folder is None:
        return
    try:
        probe_folder(Path(folder))
    except OSError as error:
        raise ConfigError(
            f"environment.fault_folder = {folder}: cannot be written: {error.strerror}"
        ) from None


def report_faults(
    batch: WalkerBatch, envs: Ints, actions: Floats, begin: StepBegin | None
) -> None:
    """Log each new fault of `envs`, and keep what the step began with, if given."""
    folder = batch.config.environment.fault_folder
    for env in envs:
        reason = FAULTS[int(batch.simulation.fault[env])]
        where = ""
        if folder is not None and begin is not None:
            try:
                path = save_fault(Path(folder), batch, int(env), actions, begin)
                where = f"; state in {path}"
            except (OSError, MotionFileError) as error:  # a full disk stops no body
                where = f"; its state was not kept: {error}"
        time = batch.episode.steps[env] * batch.simulation.dt
        log.warning("body %d at %.2f s: %s%s", env, time, reason, where)


def save_fault(
    folder: Path,
    batch: WalkerBatch,
    env: int,
    actions: Floats,
    begin: StepBegin,
) -> Path:
    """Write the control step in which body `env` exploded; the file's path.

    An NPZ file: a JSON header that says what it is of; qpos and qvel before the physics
    step that exploded; the action of the control step, and all that the step began with
    (`state.<name>`), so that `load_fault` can play it again.
    """
    steps = int(batch.episode.steps[env])
    header = {
        "format": FORMAT,
        "character": batch.character.name,
        "reference": batch.reference.name,
        "task": batch.config.environment.task,
        "reason": FAULTS[int(batch.simulation.fault[env])],
        "steps": steps,
        "variant": batch.variant.numbers(),
        "random": begin.random[env],
    }
    folder.mkdir(parents=True, exist_ok=True)
    qpos, qvel = batch.simulation.fault_state[env]
    arrays: dict[str, NDArray[Any]] = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        "qpos": qpos,
        "qvel": qvel,
        "action": actions[env].copy(),
    }
    for name, values in begin.arrays.items():
        # What is not kept for each body (how often muscles were asked) is one number.
        row = values[env : env + 1] if len(values) > 1 else values
        arrays[_STATE + name] = row.astype(np.float64)
    number = len(list(folder.glob("fault_*.npz")))
    path = folder / f"fault_{number:04d}_body{env}_step{steps}.npz"
    write_bytes(path, packed(arrays))
    return path


def load_fault(path: str | Path, batch: WalkerBatch) -> Floats:
    """Put a batch of one body where the control step in the file `path` began.

    Args:
        path: What `fault_folder` kept.
        batch: One body, made with the configuration of the batch that exploded, and
            of a varied body with its variant, whose numbers are in the file's header.

    Returns:
        The action of that step, (1, A): `batch.step(load_fault(path, batch))` repeats it.

    Raises:
        MotionFileError: No such file, or one of another body or configuration.
    """
    file, kept = Path(path), batch.state_dict()
    names = {*kept, "delay.sent"}  # of a body with a delay, which is refused below
    members = {"header", "qpos", "qvel", "action", *(_STATE + name for name in names)}
    arrays = unpacked(file, read_bytes(file), members, "fault")
    try:
        header = json_value(arrays["header"].tobytes())
        numbers = batch.variant.numbers()
        if header.get("variant", NOMINAL.numbers()) != numbers:
            raise ValueError("it is of another variant of the body")
        if header["format"] != FORMAT or header["character"] != batch.character.name:
            raise ValueError(f"it is of {header.get('character')}")
        rows = {name: arrays[_STATE + name] for name in kept}
        for name, row in rows.items():
            if row.shape != kept[name].shape:
                raise ValueError(
                    f"{name} has shape {row.shape}, not {kept[name].shape}"
                )
        action = arrays["action"].reshape(1, batch.action_size)
        batch.load_state_dict(
            {name: row.astype(kept[name].dtype) for name, row in rows.items()}
        )
        batch.rngs[0].bit_generator.state = header["random"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise MotionFileError(
            file, 0, f"is no fault of this batch ({reason})"
        ) from None
    return action
