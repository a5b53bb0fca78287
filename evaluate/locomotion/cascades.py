"""Cascades of gait policies at work: composed, trained above a base, and acting."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.gait import gait_space
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.reading import read_regular
from ambulo.envs.reference.reference import reference_from_bytes
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.envs.tasks.gait.group import PARAMETERS
from ambulo.envs.tasks.gait.joint_state import joint_states
from ambulo.envs.tasks.gait.sampling import parameter_box
from ambulo.policies.agents.cascade import (
    Cascade,
    CascadeNode,
    is_cascade,
    load_cascade,
    stored_models,
)
from ambulo.policies.agents.locomotion import (
    LocomotionAgent,
    load_locomotion_agent,
    load_walker,
)
from ambulo.policies.files.archive import MAX_BYTES
from ambulo.policies.files.headers import DescribedLayout

GaitPolicy = LocomotionAgent | Cascade
Acts = Callable[[Singles], Singles]

BASE = "base"
"""Name of the first node."""
SHARED = (
    "actuation", "control_rate", "substeps", "joints", "action_scale", "balance_law",
    "balance_limit",
)  # fmt: skip
"""Settings of the environment that change what an action means."""
WEIGHT_ACTION = "weight"
"""Name of the last action of a correction, which moves its threshold."""


class _Given:
    """A policy whose actions are set from outside."""

    def __init__(self) -> None:
        self.actions: Singles = np.zeros((0, 0), np.float32)

    def act(self, obs: Singles) -> Singles:
        """The actions that were given."""
        return self.actions


def correct_base(batch: GaitBatch, base: GaitPolicy) -> None:
    """Let actions of `batch` correct those of `base`, as a node of a cascade above it.

    An action then has one number more, which moves its own threshold.

    Raises:
        ConfigError: The base is for other bodies.
    """
    check_base(base, batch.config, batch.layout)
    low, high = parameter_box(batch.config, batch.reference)
    given = _Given()
    cascade = joined(base, CascadeNode("correction", given, low, high))
    act = acting(cascade, batch)

    def corrected(actions: Singles) -> Singles:
        given.actions = actions
        return act(batch.obs)

    batch.set_action_transform(corrected, WEIGHT_ACTION)


def check_base(
    base: GaitPolicy,
    config: LocomotionConfig,
    layout: DescribedLayout,
    actions: Sequence[str] | None = None,
) -> None:
    """Check that a policy with these settings and observations can correct `base`.

    Raises:
        ConfigError: The base is for other bodies, observations or actions.
    """
    agent = last_agent(base)
    env, theirs = config.environment, agent.config.environment
    base_actions = last_agent(base, 0).metadata.actions
    wanted = (*base_actions, WEIGHT_ACTION)
    if not theirs.traits.parameters or theirs.character != env.character:
        raise ConfigError(
            f"gait.base: a policy of {theirs.task} for {theirs.character} cannot be the base "
            f"of one of {env.task} for {env.character}"
        )
    if agent.layout.schema() != layout.schema():
        raise ConfigError("gait.base: the base sees other observations")
    for name in SHARED:
        own, other = getattr(env, name), getattr(theirs, name)
        if own != other:
            raise ConfigError(f"gait.base: its {name} is {other}, not {own}")
    if config.gait.time_warp != agent.config.gait.time_warp:
        raise ConfigError(
            f"gait.base: its gait.time_warp is {agent.config.gait.time_warp:g}, "
            f"not {config.gait.time_warp:g}"
        )
    if actions is not None and tuple(actions) != wanted:
        raise ConfigError(
            f"gait.base: {len(actions)} actions do not fit the base's {len(base_actions)} "
            f"and one more, {WEIGHT_ACTION!r}"
        )


def joined(base: GaitPolicy, node: CascadeNode) -> Cascade:
    """`base` with `node` above all that is in it."""
    if isinstance(base, Cascade):
        whole = tuple(known.name for known in base.nodes)
        return replace(base, nodes=(*base.nodes, replace(node, parents=whole)))
    env = base.config.environment
    return Cascade(
        gait_space(env.character),
        (CascadeNode(BASE, base, *box_of(base)), replace(node, parents=(BASE,))),
        parameters_of(base),
        balls_of(base.metadata.actions),
        env.action_scale,
    )


def acting(policy: GaitPolicy, batch: GaitBatch, *, deterministic: bool = True) -> Acts:
    """How `policy` acts on the observations of `batch`; cascades have mean actions only."""
    if isinstance(policy, Cascade):
        return lambda obs: policy.act(obs, lambda values: joint_states(batch, values))
    return lambda obs: policy.act(obs, deterministic=deterministic)


def load_gait_policy(name: str | Path) -> GaitPolicy:
    """The policy or the cascade in a model file, a run folder or a shipped model.

    Raises:
        ModelFileError: Missing or damaged.
    """
    file = find_model(name)
    if is_cascade(file):
        return load_cascade(file)
    return load_walker(file)


def model_files(name: str | Path) -> dict[str, bytes]:
    """The model files of a policy or a cascade by the names of nodes."""
    file = find_model(name)
    return (
        stored_models(file)
        if is_cascade(file)
        else {BASE: read_regular(file, MAX_BYTES)}
    )


def composed(
    base: str | Path, corrections: Sequence[str | Path]
) -> tuple[Cascade, dict[str, bytes]]:
    """Return a cascade of `base` and `corrections`, with the model files of its nodes.

    Raises:
        ConfigError: A policy that was not trained above this base, or is for other bodies.
        ModelFileError: Missing or damaged.
    """
    whole = load_gait_policy(base)
    models, digest = model_files(base), digest_of(base)
    for name in corrections:
        file = find_model(name)
        agent = load_locomotion_agent(file)
        if agent.config.gait.base is None:
            raise ConfigError(f"{file}: was not trained above a base (gait.base)")
        check_base(whole, agent.config, agent.layout, agent.metadata.actions)
        trained_above = agent.metadata.extra.get("base", digest)
        if trained_above != digest and len(corrections) == 1:
            raise ConfigError(f"{file}: was trained above another base than {base}")
        label = f"correction_{len(models)}"
        whole = joined(whole, CascadeNode(label, agent, *box_of(agent)))
        models[label] = read_regular(file, MAX_BYTES)
    assert isinstance(whole, Cascade), "there is a correction"
    return whole, models


def digest_of(name: str | Path) -> str:
    """Digest of the model files of a base policy."""
    digest = hashlib.blake2b(digest_size=16)
    for data in model_files(name).values():
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def varied(policy: GaitPolicy) -> tuple[str, ...]:
    """Muscle parameters that a policy's corrections vary; empty: all."""
    if not isinstance(policy, Cascade):
        return policy.config.gait.vary
    sets = [node.agent.config.gait.vary for node in policy.nodes if node.parents]
    if not all(sets):
        return ()
    return tuple(dict.fromkeys(name for names in sets for name in names))


def last_agent(policy: GaitPolicy, node: int = -1) -> LocomotionAgent:
    """The policy itself, or a cascade's last node; another one by its number."""
    if isinstance(policy, Cascade):
        agent: LocomotionAgent = policy.nodes[node].agent
        return agent
    return policy


def box_of(agent: LocomotionAgent) -> tuple[Floats, Floats]:
    """Least and largest parameters that a policy was trained on. (P,) each."""
    return parameter_box(agent.config, healthy_of(agent))


def healthy_of(agent: LocomotionAgent) -> Any:
    """The healthy gait that a policy follows; `ModelFileError` without one."""
    if not agent.references:
        raise ModelFileError("a gait policy's model file holds no healthy gait")
    return reference_from_bytes(agent.references[0], "the model")


def parameters_of(agent: LocomotionAgent) -> slice:
    """Where the observation has the normalised parameters."""
    part = next(part for part in agent.metadata.observation if part.name == PARAMETERS)
    return slice(part.start, part.stop)


def balls_of(actions: Sequence[str]) -> tuple[int, ...]:
    """First action of each ball joint: it moves three axes, `<joint>_x` to `<joint>_z`."""
    known = list(actions)
    stems = [name[:-2] for name in known if name.endswith("_x")]
    axes = {stem: [f"{stem}_{axis}" for axis in "xyz"] for stem in stems}
    return tuple(
        known.index(three[0])
        for three in axes.values()
        if known[known.index(three[0]) :][:3] == three
    )
