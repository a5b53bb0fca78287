"""Teachers of a network (`ActionLabels`): the balance controller, or a policy above it."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.layout import ObservationLayout
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.observation import observation_layout
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.envs.reference.joint_patterns import matching_dofs
from ambulo.policies.agents.locomotion import LocomotionAgent


class ControllerTeacher:
    """The balance controller alone."""

    def actions(self, batch: WalkerBatch) -> Floats:
        """Its offsets now in units of the actions of `batch`, not clipped. (N, A)."""
        return batch.teacher_actions()


class PolicyTeacher:
    """A trained policy: its mean action together with the balance controller under it.

    The bodies of the student have neither: one network learns the sum.
    """

    def __init__(self, agent: LocomotionAgent, batch: LocomotionBatch) -> None:
        """`agent` teaches on the bodies of `batch`.

        Raises:
            ConfigError: it was trained on other bodies, joints or observations.
        """
        theirs, ours = agent.config.environment, batch.config.environment
        for name in ("task", "character", "actuation", "control_rate"):
            key = "body_name" if name == "character" else name  # wherever its file lies
            there, here = getattr(theirs, key), getattr(ours, key)
            if there != here:
                raise ConfigError(
                    f"the teacher was trained with environment.{name} = {there!r}, "
                    f"not {here!r}"
                )
        if agent.config.observations.last_action:
            raise ConfigError("a teacher that observes its last action cannot teach")
        dofs = matching_dofs(batch.character, theirs.joints)
        controlled: Ints = np.zeros(0, dtype=np.int64)
        if theirs.balance_law and ours.traits.controller:
            controlled = batch.gaits.controller_dofs
        self._agent = agent
        layout = observation_layout(
            agent.config,
            joints=batch.simulation.model.nv - 6,
            controller=len(controlled),
            actions=len(dofs),
        )
        self._layout = ObservationLayout((*layout.parts, *batch._own_parts()))
        if self._layout.size != agent.layout.size:
            raise ConfigError(
                f"the teacher observes {agent.layout.size} numbers, "
                f"these bodies would show it {self._layout.size}"
            )
        self._own = _columns(dofs, batch.dofs)
        self._controlled = _columns(controlled, batch.dofs)
        self._scale, self._limit = theirs.action_scale, theirs.balance_limit

    def actions(self, batch: WalkerBatch) -> Floats:
        """Its offsets now in units of the actions of `batch`, not clipped. (N, A)."""
        assert isinstance(batch, LocomotionBatch), "as in __init__"
        out = np.zeros((batch.num_envs, batch.action_size))
        own = self._agent.act(batch.observation(self._layout))
        out[:, self._own] += self._scale * own
        if len(self._controlled):
            out[:, self._controlled] += np.clip(
                batch.balance_offsets, -self._limit, self._limit
            )
        out /= batch.config.environment.action_scale
        return out


def _columns(dofs: Ints, among: Ints) -> Ints:
    """Where each of `dofs` stands `among` the student's; `ConfigError` if one is missing."""
    where = {int(dof): column for column, dof in enumerate(among)}
    if any(int(dof) not in where for dof in dofs):
        raise ConfigError("the teacher moves joints that the actions do not move")
    return np.array([where[int(dof)] for dof in dofs], dtype=np.int64)
