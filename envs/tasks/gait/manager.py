"""One body behind the accessors of the authors' gait environments.

For programs that were written for them (Lee et al. 2019 and Park et al. 2022): the names are
theirs, in snake case; numbers are ours (metres, Z up, radians). For everything else, use
`ambulo/Gait-v0`.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.locomotion.env import locomotion_config
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.envs.tasks.gait.group import GaitGroup
from ambulo.envs.tasks.gait.sampling import random_parameters
from ambulo.motion.human23 import (
    N_POSITIONS,
    from_positions,
    from_sixdof,
    to_positions,
    to_sixdof,
)
from ambulo.motion.operations import mirror
from ambulo.muscle.actuation import MuscleActuation
from ambulo.muscle.muscle_nn import MuscleNN

OWN_DRAWS = 1
"""Seed offset that separates the draws here from those of resets."""
RUNNING, FELL, TIME_OVER = 0, 1, 3
"""Return values of `is_eoe`, as in the authors' code."""


class EnvManager:
    """A gait environment with one body; not reset yet."""

    def __init__(
        self,
        config: LocomotionConfig | None = None,
        *,
        reference: Reference | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        """One body; `settings` as of `gymnasium.make("ambulo/Gait-v0")`."""
        self.config = locomotion_config("gait", config, **settings)
        batch = make_batch(self.config, 1, seed=seed, reference=reference)
        assert isinstance(batch, GaitBatch), "the batch of the task gait"
        self.batch = batch
        self._rng = np.random.default_rng([seed, OWN_DRAWS])
        self._action = np.zeros(self.batch.action_size, np.float32)
        self._reward, self._end = 0.0, RUNNING
        self._start_phase = 0.0
        self._muscle_network: MuscleNN | None = None
        self._asked: tuple[Floats, Floats] | None = None

    # Stepping ------------------------------------------------------------------

    def reset(self) -> None:
        """Begin an episode, with new parameters unless `set_param_state` was called."""
        self.batch.reset(np.zeros(1, np.int64))
        self._action[:] = 0.0
        self._reward, self._end = 0.0, RUNNING
        self._start_phase = float(self._group.phase[0])
        self._listen()

    def set_action(self, action: ArrayLike) -> None:
        """Set the next action. Shape (get_num_action(),)."""
        values = np.asarray(action, dtype=np.float32)
        if values.shape != self._action.shape:
            raise ConfigError(
                f"action: expected shape {self._action.shape}, got {values.shape}"
            )
        self._action = values

    def step(self) -> None:
        """Make one control step with the last `set_action`."""
        _, reward, terminated, truncated, _ = self.batch.step(self._action[None])
        self._reward = float(reward[0])
        self._end = FELL if terminated[0] else TIME_OVER if truncated[0] else RUNNING

    def is_eoe(self) -> int:
        """Return 0 while the episode runs, 1 after a fall, 3 after its time limit."""
        return self._end

    def get_reward(self) -> float:
        """Return the reward of the last step."""
        return self._reward

    def get_state(self) -> Singles:
        """The observation. Shape (S,)."""
        return self.batch.obs[0].copy()

    def get_action(self) -> Singles:
        """Return the last `set_action`. Shape (A,)."""
        return self._action.copy()

    # Sizes and settings --------------------------------------------------------

    def get_num_action(self) -> int:
        """Return the length of an action."""
        return int(self.batch.action_size)

    def get_num_actuator_action(self) -> int:
        """Return the number of action entries that move joints."""
        return len(self._group.dofs)

    def get_num_muscles(self) -> int:
        """Return the number of muscles; 0 with motors."""
        muscles = self._muscles
        return 0 if muscles is None else muscles.layer.table.size

    def get_num_muscle_dof(self) -> int:
        """Return the number of joint axes that muscles move; 0 with motors."""
        muscles = self._muscles
        return 0 if muscles is None else len(muscles.layer.coupling.actuated)

    def get_use_muscle(self) -> bool:
        """Whether muscles move the body."""
        return self._muscles is not None

    def is_two_level_controller(self) -> bool:
        """Return whether a muscle network turns the policy's targets into activations."""
        muscles = self._muscles
        return muscles is not None and muscles.network is not None

    def get_use_cascading(self) -> bool:
        """Return False: policies are composed in `policies.cascade`, not here."""
        return False

    def get_learning_std(self) -> bool:
        """Whether the policy learns its standard deviation."""
        return self.config.network.learn_std

    def get_metadata(self) -> str:
        """Settings and parameters as JSON text."""
        space = json.loads(self.batch.space.to_json())
        settings = self.config.shareable().model_dump(mode="json")
        return json.dumps({"config": settings, "space": space})

    # Parameters ----------------------------------------------------------------

    def get_param_state(self) -> Floats:
        """The parameters of the body. Shape (P,)."""
        return self._group.values.copy()

    def set_param_state(self, values: ArrayLike) -> None:
        """Use these parameters (P,) from now on; a reset must follow."""
        self.batch.set_parameters(0, values)

    def update_param_state(self) -> None:
        """Draw new parameters; a reset must follow."""
        self.batch.set_parameters(0, self._drawn())

    def _drawn(self) -> Floats:
        """Random parameters (P,) as configured."""
        batch = self.batch
        return random_parameters(self.config, batch.reference, self._rng, 1)[0]

    def get_normalized_param_state(self) -> Floats:
        """The parameters as fractions of their ranges. Shape (P,)."""
        return self.batch.space.normalize(self._group.values)

    def get_param_state_from_normalized(self, normalized: ArrayLike) -> Floats:
        """Parameters from fractions of their ranges, (..., P) each."""
        return self.batch.space.denormalize(normalized)

    def get_normalized_param_state_from_param(self, values: ArrayLike) -> Floats:
        """Fractions of the ranges from parameters, (..., P) each."""
        return self.batch.space.normalize(values)

    def get_normalized_param_sample(self) -> Floats:
        """Random parameters as fractions of their ranges. Shape (P,)."""
        return self.batch.space.normalize(self._drawn())

    def get_num_known_param(self) -> int:
        """Return how many parameters can be measured on a person."""
        return int(self.batch.space.known.sum())

    def get_param_min(self) -> Floats:
        """Lower bounds of the parameters. Shape (P,)."""
        return self.batch.space.low.copy()

    def get_param_max(self) -> Floats:
        """Upper bounds of the parameters. Shape (P,)."""
        return self.batch.space.high.copy()

    def get_mirror_param_state(self, values: ArrayLike) -> Floats:
        """Parameters of the mirrored body, normalised or not, (..., P) each."""
        return self.batch.space.mirror(values)

    # Pose ----------------------------------------------------------------------

    def get_positions(self) -> Floats:
        """The 56 positions now (`motion.human23`). Shape (56,)."""
        positions: Floats = self.batch.positions()[0]
        return positions

    def pos_to_sixdof(self, positions: ArrayLike) -> Floats:
        """The 101 numbers of positions, (..., 56) to (..., 101)."""
        sixdof: Floats = to_sixdof(np.asarray(positions, dtype=np.float64))
        return sixdof

    def sixdof_to_pos(self, sixdof: ArrayLike) -> Floats:
        """The positions of 101 numbers, (..., 101) to (..., 56)."""
        positions: Floats = from_sixdof(np.asarray(sixdof, dtype=np.float64))
        return positions

    def get_mirror_positions(self, positions: ArrayLike) -> Floats:
        """Positions of the mirrored pose, (..., 56) each."""
        array = np.asarray(positions, dtype=np.float64)
        rows = array.reshape(-1, N_POSITIONS)
        mirrored = to_positions(mirror(from_positions(rows, 30.0)))
        return mirrored.reshape(array.shape)

    def get_normalized_phase(self) -> float:
        """Warped phase of the gait cycle, which the policy drives, in [0, 1)."""
        return float(self._group.phase[0])

    def get_world_phase(self) -> float:
        """Phase without time warping since the episode's start. [0, 1)."""
        group = self._group
        turns = float(group.simulation.time[0]) / group.reference.table.period
        return (self._start_phase + turns) % 1.0

    # Muscles -------------------------------------------------------------------

    def set_muscle_network(self, network: MuscleNN) -> None:
        """Distribute joint torques over the muscles by a network.

        Raises:
            ConfigError: The body has no muscles.
            MuscleError: The network is for other muscles.
        """
        self._own_muscles().use(network)
        self._muscle_network = network

    def get_random_muscle_tuple(self) -> tuple[Floats, Floats]:
        """Last targets of the muscles: torque (na,) and JtA (na, m), [N m].

        Raises:
            ConfigError: The body has no muscles, or no step was made.
        """
        self._own_muscles()
        if self._asked is None:
            raise ConfigError("no muscle tuple before the first step")
        active, wanted = self._asked
        return wanted[0], active[0]

    def close(self) -> None:
        """Free the simulation."""
        self.batch.close()

    @property
    def _group(self) -> GaitGroup:
        return self.batch.groups[0]

    @property
    def _muscles(self) -> MuscleActuation | None:
        actuation = self._group.simulation.actuation
        return actuation if isinstance(actuation, MuscleActuation) else None

    def _own_muscles(self) -> MuscleActuation:
        muscles = self._muscles
        if muscles is None:
            raise ConfigError(
                f"{self._group.character.name} is moved by motors: it has no muscles"
            )
        return muscles

    def _listen(self) -> None:
        """Record the torque targets of the muscles of a new body."""
        muscles = self._muscles
        if muscles is None:
            return
        if self._muscle_network is not None:
            muscles.use(self._muscle_network)

        def heard(active: Floats, wanted: Floats) -> None:
            if self._rng.random() < 0.5 or self._asked is None:
                self._asked = active.copy(), wanted.copy()

        muscles.listener = heard
