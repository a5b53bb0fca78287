"""Locomotion policies that a benchmark's command line names."""

from __future__ import annotations

from collections.abc import Sequence

from ambulo.common.find_model import find_model
from ambulo.evaluate.locomotion.evaluation import LocomotionSubject
from ambulo.evaluate.locomotion.task import stored_references
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion


def policies_of(models: Sequence[str]) -> dict[str, LocomotionSubject]:
    """Policies by name, from `NAME=MODEL` or `MODEL`, with their own references."""
    found: dict[str, LocomotionSubject] = {}
    for text in models:
        name, _, path = text.rpartition("=")
        file = find_model(path)
        model = load_locomotion(file)
        agent = LocomotionAgent(model, str(file))
        references = stored_references(model, str(file)) or (None,)
        found[name or file.stem] = LocomotionSubject(agent.config, references, agent)
    return found
