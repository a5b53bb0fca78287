"""Make the batch of bodies that a configuration describes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.task_registry import find_task
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.joined import JoinedBatch
from ambulo.envs.reference.configured import (
    check_reference,
    configured_character,
    reference_of,
)
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.variants import NOMINAL, Variant, drawn_variants
from ambulo.muscle.muscle_nn import MuscleNN, find_muscle_nn

AnyBatch = LocomotionBatch | JoinedBatch[Any]


def batch_class(
    task: str, own: tuple[LocomotionConfig, Reference] | None = None
) -> Callable[..., AnyBatch]:
    """The batch of a task: `BATCH` of its file, or of `batch.py` in its folder.

    Of bodies of the user's own it may be another (`of_own`): `own` are all settings and
    what they follow.

    Raises:
        ConfigError: There is no such task, or that of the user's own has no batch.
    """
    found: Any = find_task(task).batch
    if isinstance(found, str):
        module = import_module(found)
        if hasattr(module, "__path__"):
            module = import_module(f"{module.__name__}.batch")
        found = module.BATCH
    elif not (isinstance(found, type) and issubclass(found, LocomotionBatch)):
        raise ConfigError(f"task {task!r}: its batch is no subclass of LocomotionBatch")
    if own and isinstance(found, type) and issubclass(found, LocomotionBatch):
        found = found.of_own(*own)
    batch: Callable[..., AnyBatch] = found
    return batch


def make_batch(
    config: LocomotionConfig,
    num_bodies: int,
    *,
    seed: int | None = None,
    threads: int = 1,
    reference: Reference | None = None,
    muscles: MuscleNN | None = None,
    variant: Variant | None = None,
) -> AnyBatch:
    """A batch for the configured task, not yet reset.

    Args:
        config: All settings.
        num_bodies: Bodies stepped together.
        seed: Seeds body i with seed + i.
        threads: CPU threads for the physics.
        reference: What is followed, instead of `environment.reference`.
        muscles: What resolves torques with `resolver = nn`, instead of
            `environment.muscle_network`.
        variant: The one body of all, instead of those that `variation` asks for.

    Raises:
        ConfigError: A setting that cannot be used.
        MotionError: A clip that is no reference.
    """
    env = config.environment
    character = configured_character(env)
    if reference is None:
        if env.more_references:
            raise ConfigError(
                "more_references is for ambulo train walk, whose bodies are shared out"
                " among them; an environment follows one reference"
            )
        reference = reference_of(env, character)
    else:
        check_reference(reference, character, env)
    if env.resolver == "nn":
        network = muscles or find_muscle_nn(env.muscle_network)
        character = with_network(character, network)
    variants = [variant or NOMINAL]
    if variant is None and config.variation.varies:
        count = min(config.variation.variants, num_bodies)
        segments = character.model.nbody - 1
        variants = drawn_variants(config.variation, count, segments, seed or 0)
    own = None if character.standing is None else (config, reference)
    batches: list[Any] = [
        batch_class(env.task, own)(
            config,
            reference,
            character,
            num_envs=size,
            threads=threads,
            **({} if one == NOMINAL else {"variant": one}),
        )
        for size, one in zip(
            shared_out(num_bodies, len(variants)), variants, strict=True
        )
    ]
    batch = batches[0] if len(batches) == 1 else JoinedBatch(batches)
    if seed is not None:
        batch.seed([seed + i for i in range(num_bodies)])
    return batch


def shared_out(count: int, parts: int) -> list[int]:
    """Sizes of `parts` equal parts of `count`; the first are larger where it needs be."""
    return [count // parts + (part < count % parts) for part in range(parts)]


def with_network(character: Character, network: MuscleNN) -> Character:
    """`character` with a muscle network instead of the exact solver.

    Raises:
        ConfigError: It has no muscles.
    """
    make = character.actuation
    if make is None:
        raise ConfigError(f"{character.name} has no muscles for a muscle network")

    return replace(character, actuation=partial(_muscles_with, make, network))


def _muscles_with(make: Callable[[Any], Any], network: MuscleNN, batch: Any) -> Any:
    """Make a muscle actuation that resolves torques with `network`."""
    muscles = make(batch)
    muscles.use(network)
    return muscles
