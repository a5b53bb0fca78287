"""The character and the reference that a configuration asks for."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import ambulo.shipped
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.configs.tasks import TASKS, TRAITS, TaskTraits
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import (
    CHARACTERS,
    body_record,
    load_character,
)
from ambulo.envs.reference.cached import cached_reference
from ambulo.envs.reference.clips.read_clips import read_clips
from ambulo.envs.reference.cycles.building import build_reference
from ambulo.envs.reference.cycles.captured import cycle_text
from ambulo.envs.reference.gait_reference import healthy_gait
from ambulo.envs.reference.joint_positions import motion_of_positions
from ambulo.envs.reference.reference import (
    Reference,
    check_joints,
    is_reference,
    load_reference_for,
    reference_from_bytes,
)
from ambulo.envs.reference.standing import standing_reference
from ambulo.envs.reference.walk_gaits import walk_reference

SLOWEST = 0.5
"""Speed of the slowest gait that is made for commands, [m/s]; below it the clock slows."""
SPEED_STEP = 0.25
"""Largest step between the speeds of gaits that are blended, [m/s]."""


def check_reference(
    reference: Reference, character: Character, config: LocomotionEnvironmentConfig
) -> None:
    """`ConfigError` if `reference` is for another body or rate, or lacks a controller."""
    model, name = character.model, reference.name
    if reference.character != character.name:
        raise ConfigError(
            f"reference {name}: made for {reference.character}, not {character.name}; "
            "build it from its clip"
        )
    check_joints(reference, character)
    for gait in reference.gaits:
        shapes = (gait.table.qpos.shape[1], gait.table.qvel.shape[1])
        if shapes != (model.nq, model.nv):
            raise ConfigError(
                f"reference {name}: {shapes} positions and velocities; {character.name} "
                f"has {(model.nq, model.nv)}"
            )
        if gait.controller is None:
            traits = config.traits
            if config.balance_law and not (traits.still or traits.trackers):
                raise ConfigError(
                    f"reference {name} has no balance controller: build it with one, or set "
                    "balance_law = false"
                )
            continue
        if gait.controller.gains.shape[1:] != (len(gait.controller.dofs), 2 * model.nv):
            raise ConfigError(f"reference {name}: gains do not fit {character.name}")
        if abs(reference.control_dt - config.control_dt) > 1e-6:
            raise ConfigError(
                f"reference {name}: its balance controller is for "
                f"{1.0 / reference.control_dt:.3g} Hz, not control_rate = "
                f"{config.control_rate}"
            )


def configured_character(config: LocomotionEnvironmentConfig) -> Character:
    """The configured character, its timestep that of the configured physics."""
    name = config.character
    if name.endswith("_motors"):
        plain = name.removesuffix("_motors")
        raise ConfigError(
            f"character = {name}: set character = {plain} and actuation = torque"
        )
    if config.actuation == "torque" and f"{name}_motors" in CHARACTERS:
        name = f"{name}_motors"
    muscles = config.actuation == "muscle"
    character = load_character(name, config.prepared_body, muscles=muscles)
    if muscles and character.actuation is None:
        raise ConfigError(
            f"{name} has no muscles on spatial tendons: set character = myolegs, or actuation"
            " = torque"
        )
    if config.conditions:
        from ambulo.envs.characters.myo import with_conditions

        character = with_conditions(character, config.conditions)
    character.model.opt.timestep = config.control_dt / config.substeps
    return character


def with_body(config: LocomotionConfig) -> LocomotionConfig:
    """Settings that hold what is prepared of a body of the user's own: without its file.

    Raises:
        ConfigError: It cannot be used.
    """
    environment = config.environment
    if environment.character in CHARACTERS or environment.prepared_body is not None:
        return config
    record = body_record(environment.character)
    return config.override(
        "environment", body=record.replace(source=environment.character)
    )


def reference_of(
    config: LocomotionEnvironmentConfig, character: Character
) -> Reference:
    """The configured reference; what is made for it is kept (`cached_reference`)."""
    if config.clips:
        found = read_clips(
            config.clips,
            character,
            config.control_dt,
            fit=config.fit_clips,
            plain=config.traits.trackers,
        )
        check_reference(found, character, config)
        return found
    check_reference_frames(config)
    path = None if config.traits.still else config.reference
    if path is None:
        found = _built(None, 0, _key(config))
    elif is_reference(Path(path)):
        found = load_reference_for(path, character)
    else:
        stamp = Path(path).stat().st_mtime_ns if Path(path).is_file() else 0
        found = _built(path, stamp, _key(config))
    check_reference(found, character, config)
    return found


def check_reference_frames(config: LocomotionEnvironmentConfig) -> None:
    """Raise `ConfigError` for `reference_frames` without a clip to cut."""
    clip = None if config.traits.still else config.reference
    cut = config.reference_frames
    if cut is not None and (clip is None or is_reference(Path(clip))):
        raise ConfigError(
            f"reference_frames = {cut} cuts a motion clip; reference = {clip} is none"
        )


def walker_gaits(
    config: LocomotionEnvironmentConfig, character: Character
) -> Reference:
    """The gaits of the shipped `walk_commands`, for tasks that stand on its legs.

    Raises:
        ConfigError: They are for another body or rate.
    """
    walks = config.replace(task="walk_commands", clips=(), reference=None)
    found = _built(None, 0, _key(walks))
    check_reference(found, character, walks)
    return found


def _legs(path: str | None, config: LocomotionEnvironmentConfig) -> Reference:
    """Reference of myolegs: standing, or the walk of the shipped `muscle_walk`."""
    name = "myolegs" if config.actuation == "muscle" else "myolegs_motors"
    if config.traits.still:
        # Muscles that saturate have no useful derivative: motors are linearised.
        motors = configured_character(config.replace(actuation="torque"))
        found = standing_reference(
            motors, joints=config.joints, control_dt=config.control_dt
        )
        return replace(found, character=name)
    if config.traits.commands or not config.traits.clock:
        raise ConfigError(
            f"task = {config.task} has no gaits for myolegs yet: set task = imitate or"
            " stand, or character = human23"
        )
    if path is not None:
        raise ConfigError(
            f"reference = {path}: myolegs follows prepared references (.npz of ours); null is "
            "the walk of the shipped muscle_walk"
        )
    file = ambulo.shipped.shipped_models().get("muscle_walk")
    if file is None:
        raise ConfigError("reference: the walk of myolegs is not installed; name one")
    return replace(_stored(file), character=name)


def shipped_reference(config: LocomotionEnvironmentConfig) -> Path | None:
    """Return the shipped model whose own reference is that of `config`; None: there is none."""
    commands, name = config.traits.commands, ""
    if config.reference is None and config.character == "human23":
        if commands == 3:
            name = "walk_commands"
        elif commands and _walks_as_locomote(config):
            name = "locomote"
    return ambulo.shipped.shipped_models().get(name)


def _walks_as_locomote(config: LocomotionEnvironmentConfig) -> bool:
    """Whether the gaits of the shipped `locomote` are for these settings.

    With zero actions 70 % of its bodies walk on for 20 s; of gaits that are made of the
    suite's own walks hardly any do.
    """
    default = LocomotionEnvironmentConfig(task="locomote")
    names = ("joints", "control_rate", "substeps", "character", "speed")
    return all(getattr(config, name) == getattr(default, name) for name in names)


def _stored(file: Path) -> Reference:
    """The reference in the file of a shipped policy."""
    with zipfile.ZipFile(file) as model:
        return reference_from_bytes(model.read("reference_0.npz"), file)


def chosen_cycle(reference: Reference, character: Character) -> list[str]:
    """Frames that were chosen of a clip, one line; none where the reference does not say."""
    report = reference.report
    if "first_frame" not in report:
        return []
    table = reference.gaits[0].table
    motion = motion_of_positions(
        table.qpos,
        character.model,
        character.skeleton,
        len(table.qpos) / table.period,
    )
    first, last = round(report["first_frame"]), round(report["last_frame"])
    return [f"{reference.name}: {cycle_text(first, last, motion)}"]


def family_speeds(config: LocomotionEnvironmentConfig) -> tuple[float, ...]:
    """Speeds of the gaits that the configured task blends, [m/s]; none: the clip's own."""
    if config.traits.commands != 2:
        return ()
    slow, fast = max(config.speed[0], SLOWEST), max(config.speed[1], SLOWEST)
    count = 1 + int(np.ceil((fast - slow) / SPEED_STEP - 1e-9))
    return tuple(float(speed) for speed in np.linspace(slow, fast, count))


def _key(config: LocomotionEnvironmentConfig) -> LocomotionEnvironmentConfig:
    """The settings that a reference depends on; all others at their defaults."""
    names = ["task", "base", "character", "joints", "control_rate", "substeps"]
    names += ["actuation", "standing_reference", "reference_frames"]
    if config.traits.commands == 2:
        names.append("speed")
    values: dict[str, Any] = {name: getattr(config, name) for name in names}
    if config.character not in CHARACTERS:  # the body itself, wherever its file lies
        record = config.prepared_body or body_record(config.character)
        values |= {"character": record.name, "body": record.replace(source=record.name)}
        values.pop("actuation")  # muscles that saturate have no useful derivative
    if config.traits.trackers:  # they follow the references of `track`
        values |= {"task": "track", "joints": TRAITS["track"].defaults["joints"]}
    elif config.task_package is not None:
        values["task"] = _suite_task(config)
    return LocomotionEnvironmentConfig(**values)


def _suite_task(config: LocomotionEnvironmentConfig) -> str:
    """The task of the suite that follows the same reference as one of the user's own."""

    def followed(t: TaskTraits) -> tuple[Any, ...]:
        return t.still, t.commands, t.clips, t.parameters, t.controller

    own = config.character not in CHARACTERS
    alike = (
        task
        for task in TASKS
        if followed(TRAITS[task]) == followed(config.traits)
        and TRAITS[task].allows(config.character, own=own)
    )
    return next(alike, config.task)


@lru_cache(maxsize=8)
def _built(
    path: str | None, stamp: int, config: LocomotionEnvironmentConfig
) -> Reference:
    del stamp  # part of the key: a changed file is read again
    if config.character == "myolegs":
        return _legs(path, config)
    character, traits = configured_character(config), config.traits
    follows_one = not (traits.still or traits.commands)
    # The suite's other own walk, of textbook angles, falls within seconds.
    if traits.parameters or (
        path is None and follows_one and character.name == "human23"
    ):
        return healthy_gait(config)
    shipped = shipped_reference(config)
    if shipped is not None:
        return _stored(shipped)
    options: dict[str, Any] = {
        "joints": config.joints, "control_dt": config.control_dt,
    }  # fmt: skip
    if traits.still:
        takes, options["balance"] = "", traits.controller
        make = partial(standing_reference, character, **options)
        path = None
    elif traits.commands == 3:
        takes, options["frames"] = "some minutes", config.reference_frames
        make = partial(walk_reference, path, character, **options)
    else:
        takes, options["frames"] = "a minute or more", config.reference_frames
        options |= {
            "speeds": family_speeds(config),
            "standing": config.standing_reference,
        }
        make = partial(build_reference, path, character, **options)
    return cached_reference(config.model_dump(mode="json"), path, make, takes=takes)
