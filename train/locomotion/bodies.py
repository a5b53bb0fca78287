"""Task of a locomotion training: bodies, references and observations of policies."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from gymnasium import spaces
from rich.console import Console

from ambulo.common.find_model import find_model
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.configs.simulation_nn import TeacherConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.build import make_batch, shared_out
from ambulo.envs.locomotion.extra_parts import history_part
from ambulo.envs.locomotion.joined import several_references
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.envs.reference.configured import (
    check_reference_frames,
    chosen_cycle,
    configured_character,
    reference_of,
    shipped_reference,
)
from ambulo.envs.reference.reference import (
    Reference,
    is_reference,
    reference_bytes,
)
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.evaluate.locomotion.cascades import correct_base, load_gait_policy
from ambulo.evaluate.locomotion.evaluation import stored_references
from ambulo.motion.retargeting.source import read_source
from ambulo.muscle.muscle_nn import MuscleNN, muscle_nn_from_bytes
from ambulo.policies.agents.locomotion import (
    LocomotionModel,
    load_locomotion,
    load_locomotion_agent,
)
from ambulo.policies.kinds.locomotion import MUSCLES
from ambulo.policies.sb3_batch_env import Sb3BatchEnv
from ambulo.train.locomotion.teachers import ControllerTeacher, PolicyTeacher
from ambulo.train.shared.dagger import ActionLabels

References = tuple[Reference, ...]


def references_for(config: LocomotionConfig) -> References:
    """The configured references, with balance controllers if anything asks for them.

    A teacher needs the controller also where it does not act. A trained one brings the
    references that it follows.

    Raises:
        ConfigError: the configuration names another reference than its teacher's.
    """
    env, teacher = config.environment, config.training.teacher
    if teacher is not None and teacher.model is not None:
        return _references_of_teacher(teacher.model, env.reference)
    if teacher is not None and env.traits.controller:
        env = config.override("environment", balance_law=True).environment
    if env.clips:
        return (reference_of(env, configured_character(env)),)
    others = [
        env.replace(reference=name, reference_frames=None)
        for name in env.more_references
    ]
    return tuple(_prepared(one) for one in (env, *others))


def _prepared(env: LocomotionEnvironmentConfig) -> Reference:
    """Return the configured reference; announce it, since making one takes minutes."""
    check_reference_frames(env)
    path = None if env.reference is None else Path(env.reference)
    body = configured_character(env)
    ready = path is not None and (not path.is_file() or is_reference(path))
    ready = ready or shipped_reference(env) is not None
    if ready or env.character == "myolegs":  # whose walks tell it themselves
        return reference_of(env, body)
    if path is not None:
        read_source(path)  # refused before its preparation is announced
    console = Console(stderr=True)
    plain = "the suite's own walk"
    name = plain if path is None else path.name
    what = "the standing pose" if env.traits.still else f"{name} ({env.task})"
    controller = ", with its balance controller" if env.balance_law else ""
    takes = "seconds" if env.traits.still else "a minute or more"
    if env.traits.still and body.standing is not None:
        takes = "seconds, or minutes if pushes topple it"
    text = f"preparing {what} for {body.name}{controller}: this takes {takes}"
    console.print(text, soft_wrap=True, markup=False, highlight=False)
    began = time.perf_counter()
    reference = reference_of(env, body)
    seconds = time.perf_counter() - began
    console.print(f"prepared in {seconds:.0f} s", markup=False, highlight=False)
    for line in chosen_cycle(reference, body):
        console.print(line, soft_wrap=True, markup=False, highlight=False)
    return reference


def _references_of_teacher(name: str, wanted: str | None) -> References:
    """Return the references of the model `name`; theirs must match the name `wanted`."""
    file = find_model(name)
    model = load_locomotion(file)
    theirs = model.metadata.config.environment.reference
    if wanted is not None and theirs is not None and Path(wanted).name != theirs:
        raise ConfigError(
            f"{file}: this teacher follows {theirs}, not {Path(wanted).name}; "
            f"leave the reference out"
        )
    return stored_references(model, str(file))


def teacher_of(config: TeacherConfig, batch: WalkerBatch) -> ActionLabels[WalkerBatch]:
    """The configured teacher for the bodies of `batch`.

    Raises:
        ConfigError: a trained policy of other bodies, or several references.
        ModelFileError: no such model, or a damaged one.
    """
    if config.model is None:
        return ControllerTeacher()
    prior = batch.config.network.prior
    if not isinstance(batch, LocomotionBatch) or prior is not None:
        raise ConfigError(
            "training.teacher.model teaches one reference, without network.prior"
        )
    file = find_model(config.model)
    return PolicyTeacher(load_locomotion_agent(file), batch)


def stored_muscles(model: LocomotionModel | None, source: str) -> MuscleNN | None:
    """The muscle network in a model file, if there is one."""
    if model is None or MUSCLES not in model.attachments:
        return None
    return muscle_nn_from_bytes(model.attachments[MUSCLES], source)


def bytes_of(references: References) -> tuple[bytes, ...]:
    """References for a model file."""
    return tuple(reference_bytes(reference) for reference in references)


def carried_references(references: References) -> References:
    """References of a model file: of many clips the first alone, without its feedback."""
    return tuple(
        reference if reference.table.periodic else _first_clip(reference)
        for reference in references
    )


def _first_clip(reference: Reference) -> Reference:
    gait = reference.gaits[0]
    table = replace(gait.table, aim=None)
    light = replace(gait, table=table, controller=None, captured=None)
    return replace(reference, gaits=(light,))


def make_bodies(
    config: LocomotionConfig,
    count: int,
    references: References,
    *,
    seed: int,
    threads: int = 1,
    muscles: MuscleNN | None = None,
) -> WalkerBatch:
    """`count` bodies for `config`, not yet reset.

    They are shared out among several references, each a mode of its own; for a policy
    with a prior they also show their last states.
    """
    modes = len(references)
    if count < modes:
        raise ConfigError(f"{count} bodies for {modes} references: one each, at least")
    batches = [
        make_batch(
            config,
            size,
            seed=seed + mode * count,
            threads=threads,
            reference=reference,
            muscles=muscles,
        )
        for mode, (size, reference) in enumerate(
            zip(shared_out(count, modes), references, strict=True)
        )
    ]
    batch = batches[0] if modes == 1 else several_references(batches)
    if config.gait.base is not None:
        if not isinstance(batch, GaitBatch):
            raise ConfigError("gait.base: only policies of the task gait have a base")
        correct_base(batch, load_gait_policy(config.gait.base))
    if config.network.prior is not None:
        batch.show(history_part(config.network.prior.frames))
    return batch


def vector_env(batch: WalkerBatch) -> Sb3BatchEnv:
    """The bodies for a learner."""
    space = spaces.Box(-1.0, 1.0, (batch.action_size,), np.float32)
    return Sb3BatchEnv(batch, space)


def action_names(batch: WalkerBatch) -> Sequence[str]:
    """The joint axes that an action moves, such as `FemurR_x`."""
    model = batch.simulation.model
    names = []
    for dof in batch.dofs:
        joint = model.joint(int(model.dof_jntid[dof]))
        wide = int(joint.type[0]) == 1  # a ball joint has three axes
        axis = f"_{'xyz'[int(dof - joint.dofadr[0])]}" if wide else ""
        names.append(f"{joint.name}{axis}")
    return [*names, *batch.extra_actions]
