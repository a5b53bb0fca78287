"""How well random bodies and gaits walk: the common balance controller, a cascade of policies.

* `controllers`: walks of 10 s of random bodies that the common balance controller holds, and
  that of the healthy body and gait alone, with nothing learned;
* `cascade`: how weak hip abductors may be for the shipped cascade, its base and the controller.

    python benchmarks/gait_bodies.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _harness import run

from ambulo.configs.gait import gait_space
from ambulo.configs.presets import LOCOMOTION_PRESETS
from ambulo.envs.characters.gait_body import gait_body
from ambulo.envs.reference.balance import balance_controller
from ambulo.envs.reference.clips.survival import Disturbance, survival
from ambulo.envs.reference.gait_reference import gait_reference, healthy_gait
from ambulo.envs.reference.joint_patterns import matching_dofs
from ambulo.envs.tasks.gait.sampling import healthy_parameters
from ambulo.evaluate.gait.policy_scores import play_bodies
from ambulo.evaluate.locomotion.cascades import healthy_of, last_agent, load_gait_policy
from ambulo.evaluate.locomotion.evaluation import undisturbed
from ambulo.policies.agents.cascade import Cascade

SIDES = (("left", "right"), ("left",), ("right",))
"""Which sides are weak."""


def controllers(bodies: int, seconds: float, seed: int) -> dict[str, float]:
    """Fraction of walks that each balance controller holds."""
    env, space = LOCOMOTION_PRESETS.load("gait").environment, gait_space("human23")
    healthy = healthy_gait(env)
    assert healthy.controller is not None
    own_body = gait_body(space, space.default)
    own_body.model.opt.timestep = env.control_dt / env.substeps
    plain = healthy_gait(env.replace(balance_law=False))
    dofs = matching_dofs(own_body, env.joints)
    own = balance_controller(own_body, plain.table, dofs, control_dt=env.control_dt)
    shares: dict[str, list[float]] = {"common": [], "of the healthy body": []}
    for values in space.sample(np.random.default_rng(seed), bodies):
        body = gait_body(space, values)
        body.model.opt.timestep = env.control_dt / env.substeps
        table = gait_reference(space, values, body, healthy).table
        for name, controller in zip(shares, (healthy.controller, own), strict=True):
            share = survival(
                body, table, controller, Disturbance("push", impulse=0.0),
                control_dt=env.control_dt, bodies=2, seconds=seconds,
            )  # fmt: skip
            shares[name].append(share)
    return {name: float(np.mean(each)) for name, each in shares.items()}


def cascade(
    model: str, forces: tuple[float, ...], walks: int, seed: int
) -> dict[str, Any]:
    """Survival by the force of the gluteus medius, as a fraction of the healthy one."""
    whole = load_gait_policy(model)
    assert isinstance(whole, Cascade)
    agent = last_agent(whole)
    reference, config = healthy_of(agent), undisturbed(agent.config, 10.0)
    healthy = healthy_parameters(config, reference)
    actors = {"cascade": whole, "base": whole.nodes[0].agent, "controller": None}
    rows = {}
    for force in forces:
        values = np.tile(healthy, (len(SIDES), 1))
        for row, sides in zip(values, SIDES, strict=True):
            for side in sides:
                row[whole.space.index(f"force_gluteus_medius_{side}")] = force
        bodies = np.repeat(values, walks, axis=0)
        rows[f"{force:g}"] = {
            name: play_bodies(config, reference, bodies, actor, seed)
            .metrics["survival_rate"]
            .number
            for name, actor in actors.items()
        }
    return rows


def measure(
    bodies: int = 40,
    seconds: float = 10.0,
    model: str = "gait_cascade",
    forces: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2, 0.3),
    walks: int = 4,
    seed: int = 7,
) -> dict[str, Any]:
    """Both parts."""
    return {
        "controllers": controllers(bodies, seconds, 77),
        "cascade": cascade(model, forces, walks, seed),
    }


if __name__ == "__main__":
    run(measure, {"bodies": 2, "seconds": 2.0, "forces": [0.3], "walks": 1})
