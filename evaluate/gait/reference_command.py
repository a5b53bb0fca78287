"""`ambulo eval` of a gait reference: its balance controller on bodies that vary."""

from __future__ import annotations

from ambulo.common.gl import import_mujoco
from ambulo.configs.errors import ModelFileError
from ambulo.configs.presets.locomotion import preset
from ambulo.envs.reference.reference_file import load_reference
from ambulo.evaluate.gait.policy_command import Actors, evaluate_bodies
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest
from ambulo.evaluate.shared.result import POLICY


def run(request: EvalRequest) -> EvalOutcome:
    """Walk with bodies drawn for the preset `gait`, with and without balance controller."""
    import_mujoco()
    file = request.model_file
    reference = load_reference(file)
    config = preset("gait")
    body = config.environment.character
    if reference.character != body or reference.controller is None:
        raise ModelFileError(f"{file}: no balance controller of {body}")
    open_loop = config.override("environment", balance_law=False, feed_forward=True)
    configs = {"open_loop": open_loop}
    actors: Actors = {
        POLICY: (config, None),
        **{name: (configs[name], None) for name in request.baselines},
    }
    return evaluate_bodies(request, config, reference, actors)
