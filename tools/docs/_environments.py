"""A page for every registered environment, made of the environment itself."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
from _markdown import code_text, table

import ambulo
from ambulo.commands.describe import action_schema
from ambulo.configs.base import Config
from ambulo.configs.class_source import attribute_docs
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.info_keys import INFO_KEYS, TERMS_OF_FACTORS
from ambulo.envs.vr.task.reward import reward_terms

FILMS = Path(__file__).resolve().parents[2] / "docs" / "images" / "environments"
"""A film of every environment, NAME.webp (`tools/make_films.py`)."""
GUIDES = {
    "EmbodiedNavigation": "embodied.md",
    "Gait": "gait_env.md",
    "Locomote": "locomote.md",
    "Track": "track.md",
    "TrackBody": "track_body.md",
    "VRNavigation": "vr_navigation.md",
    "WalkCommands": "walk_commands.md",
}
"""The guide of an environment; of the others it is that of all walkers."""
WALKERS_GUIDE = "locomotion_envs.md"


def write(folder: Path) -> None:
    """Write environments/index.md and a page for every environment."""
    pages = folder / "environments"
    pages.mkdir()
    ambulo.register()
    rows = []
    for name in registered():
        short = name.removeprefix("ambulo/")
        stem = short.partition("-")[0]
        env = ambulo.make(name)
        text = "\n".join(_page(env, name, stem))
        (pages / f"{stem}.md").write_text(text, encoding="utf-8")
        rows.append(
            (f"[{short}]({stem}.md)", _size(env), _actions_size(env), _summary(env))
        )
        env.close()
    lines = [
        "# Environments", "",
        f"{len(rows)} environments are registered. Make one by "
        '`ambulo.make("NAME")`, many at once by `ambulo.make_vec("NAME", num_envs=64)`.', "",
        *table(("environment", "observation", "action", "what"), rows),
    ]  # fmt: skip
    (pages / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def registered() -> list[str]:
    """Return the names of all environments but games, which have spaces of their own."""
    names = (name for name in gymnasium.registry if name.startswith("ambulo/"))
    return sorted(name for name in names if "Godot" not in name)


def _page(env: Any, name: str, stem: str) -> Iterator[str]:
    """Yield the lines of a page."""
    unwrapped = env.unwrapped
    yield f"# {name.removeprefix('ambulo/')}"
    yield ""
    yield _summary(env)
    yield ""
    yield "```python"
    yield "import ambulo"
    yield ""
    yield f'env = ambulo.make("{name}")'
    yield "```"
    yield ""
    guide = GUIDES.get(stem, WALKERS_GUIDE)
    limit = unwrapped.config.environment.max_episode_steps
    yield (
        f"The [guide](../{guide}) says how it is used and trained. All tables are those of "
        f"the default settings; episodes are truncated after {limit} steps."
    )
    yield ""
    if (FILMS / f"{stem}.webp").is_file():
        yield f"![{stem} in action](../images/environments/{stem}.webp)"
        yield ""
    yield from _observation(unwrapped)
    yield from _actions(unwrapped)
    yield from _rewards(env)
    yield from _info(env)


def _summary(env: Any) -> str:
    """Return the first sentence of what the environment says about itself."""
    batch, unwrapped = env.unwrapped.batch, env.unwrapped
    own = isinstance(unwrapped.config, NavigationConfig)
    text = inspect.getdoc(type(unwrapped if own else batch)) or ""
    return code_text(text.partition("\n\n")[0]).partition(";")[0].rstrip(".") + "."


def _size(env: Any) -> str:
    return str(math.prod(env.observation_space.shape or ()))


def _actions_size(env: Any) -> str:
    return str(math.prod(env.action_space.shape or ()))


def _observation(env: Any) -> Iterator[str]:
    """Yield the table of the observation."""
    layout = env.batch.layout
    yield "## Observation"
    yield ""
    yield f"{layout.size} numbers (`float32`); policies multiply each by its scale."
    yield ""
    where = layout.slices()
    rows = []
    for part in layout.parts:
        first, last = where[part.name].start, where[part.name].stop - 1
        span = str(first) if first == last else f"{first} to {last}"
        rows.append(
            (span, f"`{part.name}`", str(part.size), part.unit, f"{part.scale:g}",
             part.meaning)
        )  # fmt: skip
    yield from table(("numbers", "name", "size", "unit", "scale", "meaning"), rows)
    if layout.privileged:
        yield ""
        yield "The critic of a training sees more:"
        yield ""
        more = [
            (f"`{p.name}`", str(p.size), p.unit, p.meaning) for p in layout.privileged
        ]
        yield from table(("name", "size", "unit", "meaning"), more)
    yield ""


def _actions(env: Any) -> Iterator[str]:
    """Yield the table of the action."""
    yield "## Action"
    yield ""
    if isinstance(env.config, NavigationConfig):
        parts = action_schema(env.config)["parts"]
        yield "Numbers in [-1, 1], as of a thumb stick."
        yield ""
        rows = [(str(i), f"`{p['name']}`", p["meaning"]) for i, p in enumerate(parts)]
        yield from table(("number", "name", "meaning"), rows)
        yield ""
        return
    batch, scale = env.batch, env.config.environment.action_scale
    yield (
        "Numbers in [-1, 1]. An action of 1 moves the target of a joint axis by "
        f"{scale:g} rad from the reference's; a stable PD controller turns it into torques."
    )
    yield ""
    yield from table(("number", "joint", "axis"), _joint_rows(batch))
    yield ""


def _joint_rows(batch: Any) -> list[tuple[str, str, str]]:
    """Return a row for every number of an action of a simulated body."""
    model = batch.simulation.model
    rows = []
    for i, dof in enumerate(batch.dofs):
        joint = model.joint(int(model.dof_jntid[dof]))
        number = int(dof - joint.dofadr[0])
        if joint.type[0] == mujoco.mjtJoint.mjJNT_BALL:
            axis = f"rotation vector, {'xyz'[number]}"
        else:
            axis = "axis " + " ".join(f"{value:g}" for value in joint.axis)
        rows.append((str(i), f"`{joint.name}`", axis))
    for name in batch.extra_actions:
        rows.append((str(len(rows)), f"`{name}`", "not of a joint, see the guide"))
    if len(rows) != batch.action_size:
        raise ValueError(f"{len(rows)} rows for {batch.action_size} actions")
    return rows


def _rewards(env: Any) -> Iterator[str]:
    """Yield the table of the reward terms."""
    yield "## Reward"
    yield ""
    yield "The reward is the sum of these terms; each is in `info` as `reward/<term>`."
    yield ""
    names = sorted(
        k.removeprefix("reward/") for k in info_of(env) if k.startswith("reward/")
    )
    config = env.unwrapped.config
    if isinstance(config, NavigationConfig):
        formulas = navigation_formulas()
        rows = [
            (f"`{n}`", *_navigation_term(formulas[n], config.rewards)) for n in names
        ]
    else:
        rows = [(f"`{name}`", *_walker_term(name, config)) for name in names]
    yield from table(("term", "weight", "meaning"), rows)
    yield ""


def navigation_formulas() -> dict[str, ast.expr]:
    """Return the expression of every term in the source of `reward_terms`."""
    tree = ast.parse(inspect.getsource(reward_terms))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.AnnAssign)
            and getattr(node.target, "id", "") == "terms"
        ):
            assert isinstance(node.value, ast.Dict)
            pairs = zip(node.value.keys, node.value.values, strict=True)
            return {
                key.value: value
                for key, value in pairs
                if isinstance(key, ast.Constant)
            }
    raise ValueError("reward_terms assigns no terms")


def _navigation_term(formula: ast.expr, weights: Config) -> tuple[str, str]:
    """Return weight and meaning of a term of navigation."""
    used = [
        node.attr
        for node in ast.walk(formula)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "weights"
    ]
    used = used or ["person_collision"]  # its default is another weight
    value = getattr(weights, used[0])
    text = attribute_docs(type(weights)).get(used[0], "")
    return f"`{used[0]}` = {_number(value)}", code_text(text)


def _walker_term(name: str, config: Config) -> tuple[str, str]:
    """Return weight and meaning of a term of a simulated body."""
    for group in ("rewards", "gait", "walk"):
        weights = getattr(config, group)
        for field in type(weights).model_fields:
            if field in (name, f"{name}_cost"):
                value = _number(getattr(weights, field))
                text = attribute_docs(type(weights)).get(field, "")
                return f"`{group}.{field}` = {value}", code_text(text)
    return "", TERMS_OF_FACTORS[name]


def _number(value: object) -> str:
    return "as `collision_penalty`" if value is None else f"{value:g}"


def _info(env: Any) -> Iterator[str]:
    """Yield the table of what a step measures."""
    yield "## Metrics"
    yield ""
    yield "`info` of every step and reset holds, beside the reward terms:"
    yield ""
    rows = []
    for key in sorted(info_of(env)):
        if key.startswith("reward/"):
            continue
        if key.startswith("factor/"):
            rows.append((f"`{key}`", "1", "factor of the reward, in (0, 1]"))
        else:
            rows.append((f"`{key}`", *INFO_KEYS[key]))
    yield from table(("key", "unit", "meaning"), rows)
    yield ""


def info_of(env: Any) -> dict[str, Any]:
    """Return the info of a step after a reset."""
    env.reset(seed=0)
    *_, info = env.step(np.zeros(env.action_space.shape))
    return dict(info)
