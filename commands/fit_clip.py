"""The command `ambulo fit`: make a clip feasible for a simulated body."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ambulo.commands.fit_many import FitFlags, check_no_reference, fit_many
from ambulo.common.command_line import command
from ambulo.common.console import bars
from ambulo.common.files import check_parent, refuse_existing
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.clip_reference import (
    ClipReference,
    clip_reference,
    fitted_body,
)
from ambulo.envs.reference.reference_file import save_reference
from ambulo.motion.analysis import movement_text
from ambulo.motion.operations import at_speed, frames_of
from ambulo.motion.retargeting.source import read_source
from ambulo.muscle.coupling import joint_coupling

FALLS = 1
"""Exit code when the body falls; 2 is wrong usage."""


@command("ambulo fit")
def main(flags: FitFlags) -> int:
    """Fit clips, write their references, and return the exit code."""
    character = fitted_body(flags.body)
    _check_body(character)
    if len(flags.clips) > 1 or resolve_path(flags.clips[0]).is_dir():
        return fit_many(flags)
    path = resolve_path(flags.clips[0])
    check_no_reference(path)
    target = resolve_path(flags.out or f"{path.stem}.{character.name}.npz")
    check_parent(str(target))
    if target.suffix != ".npz":
        raise ConfigError(f"--out {target}: a reference ends in .npz")
    refuse_existing([target], force=flags.force)
    motion = at_speed(read_source(path).logged(), flags.speed)
    rows = frames_of(motion, flags.frames)
    part = motion[rows]
    print(
        f"clip       {motion.label}: frames {rows.start}:{rows.stop} of {len(motion)}, "
        f"{part.duration:.2f} s at {part.fps:g} fps; {movement_text(part)}"
    )
    with bars(0) as progress:
        task = progress.add_task("fitting", total=None)

        def show(done: int, of: int) -> None:
            progress.update(task, completed=done, total=of)

        found = clip_reference(
            motion, character,
            bodies=flags.bodies, seed=flags.seed, frames=flags.frames, progress=show,
        )  # fmt: skip
    save_reference(target, found.reference)
    _print(found)
    print(f"reference  {target}")
    if flags.film is not None:
        print(f"film       {_film(resolve_path(flags.film), found)}")
    return 0 if found.falls_at is None else FALLS


def _check_body(character: Character) -> None:
    """Refuse bodies that cannot be fitted yet.

    Raises:
        ConfigError: Muscles, or joints that are tied to others.
    """
    if character.actuation is not None:
        raise ConfigError(
            f"--character {character.name}: has muscles; clips need motors"
        )
    free = joint_coupling(character.model).independent
    if not np.isin(character.dofs(*character.skeleton.joints), free).all():
        raise ConfigError(
            f"--character {character.name}: joints are tied to others; clips need free joints"
        )


def _print(found: ClipReference) -> None:
    """Say what became of the clip."""
    report = found.report
    print(
        f"error      {100 * report['error_world']:.1f} cm in the world, "
        f"{100 * report['error_local']:.1f} cm beside the root; root at most "
        f"{100 * report['root_deviation']:.1f} cm off"
    )
    for need in found.needs:
        print(f"support    {need.text()}")
    if found.falls_at is not None:
        before = [need for need in found.needs if need.begin <= found.falls_at]
        why = f", where support is missing from {before[-1].begin:.2f} s on" * bool(
            before
        )
        print(
            f"falls      at {found.falls_at:.2f} s (frame {found.frame(found.falls_at)}): the "
            f"body cannot do this clip{why}"
        )
        return
    for name, value in report.items():
        if name.startswith("survives "):
            print(f"feedback   {value:4.0%} survive {name.removeprefix('survives ')}")


def _film(path: Path, found: ClipReference) -> Path:
    """Film clip and body side by side."""
    from ambulo.viz.skeleton_actor import actor_of
    from ambulo.viz.skeleton_film import write_film

    actors = [actor_of(found.clip, label="clip"), actor_of(found.body, label="body")]
    return write_film(path, actors, found.clip.fps, ghost=True)


if __name__ == "__main__":
    sys.exit(main())
