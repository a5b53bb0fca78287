from functools import cache

import pytest

from ambulo.configs.gait import gait_space
from ambulo.envs.gait.body import gait_body
from ambulo.envs.locomotion.env import locomotion_config
from ambulo.envs.locomotion.reference import Reference, gait_of
from ambulo.motion.reference.gait_cycle import gait_cycle
from ambulo.motion.reference.prepare import physical_cycle


@cache
def plain_reference():
    """The healthy gait without its balance law, which takes long to make."""
    space = gait_space("human23")
    body = gait_body(space, space.default)
    body.model.opt.timestep = 1.0 / 150.0
    cycle = gait_cycle(space, space.default, body.soles)
    gait = gait_of(physical_cycle(cycle, body.model, body.soles), body, (), None)
    return Reference("healthy gait", "human23", 1.0 / 30.0, (gait,))


@pytest.fixture
def reference():
    return plain_reference()


@pytest.fixture
def config():
    return locomotion_config("gait", balance_law=False, groups=2)
