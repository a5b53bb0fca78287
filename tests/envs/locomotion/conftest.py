"""A body and references that are made once for all tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.locomotion.reference import (
    Reference,
    body_of,
    build_reference,
    standing_reference,
)


@pytest.fixture(scope="session")
def character() -> Character:
    return body_of(LocomotionConfig().environment)


@pytest.fixture(scope="session")
def plain(character: Character) -> Reference:
    """The plain walk without a balance law."""
    return build_reference(None, character, balance=False)


@pytest.fixture(scope="session")
def family(character: Character) -> Reference:
    """The plain walk at three speeds without a balance law."""
    return build_reference(None, character, balance=False, speeds=(0.8, 1.0, 1.2))


@pytest.fixture(scope="session")
def standing(character: Character) -> Reference:
    return standing_reference(character)


@pytest.fixture
def make(
    plain: Reference, family: Reference, standing: Reference
) -> Callable[..., LocomotionBatch]:
    """`make(task, count, **environment)`: a batch that has been reset."""

    def made(
        task: str = "imitate",
        count: int = 3,
        seed: int = 0,
        observations: dict[str, object] | None = None,
        rewards: dict[str, object] | None = None,
        **settings: object,
    ) -> LocomotionBatch:
        settings.setdefault("balance_law", task == "stand")
        config = LocomotionConfig().override("environment", task=task, **settings)
        config = config.override("observations", **(observations or {}))
        config = config.override("rewards", **(rewards or {}))
        pose = settings.get("base") == "pose"
        reference = {"imitate": plain, "locomote": family, "stand": standing}[task]
        batch = make_batch(
            config, count, seed=seed, reference=standing if pose else reference
        )
        batch.reset(np.arange(count))
        return batch

    return made
