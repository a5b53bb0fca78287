"""Ambulo: reinforcement-learning environments for embodied characters.

The public interface; `import ambulo` loads nothing heavy, each name loads what it needs
when it is first used.

>>> import ambulo
>>> agent = ambulo.load("vr_navigation")
>>> env = ambulo.make_vec(agent, num_envs=2, levels_per_family=8)
>>> obs, info = env.reset(seed=0)
>>> obs, reward, terminated, truncated, info = env.step(agent.act(obs))
>>> reward.shape
(2,)
>>> env.close()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; at run time see `__getattr__`
    from ambulo.api import (
        ModelCard,
        PoseTracker,
        load,
        make,
        make_vec,
        models,
        read_motion,
        register,
        retarget,
        write_motion,
    )

__all__ = [
    "ModelCard",
    "PoseTracker",
    "__version__",
    "load",
    "make",
    "make_vec",
    "models",
    "read_motion",
    "register",
    "retarget",
    "write_motion",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Return a name of the public interface, which is imported at its first use."""
    if name not in __all__:
        raise AttributeError(f"module 'ambulo' has no attribute {name!r}")
    return getattr(import_module("ambulo.api"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
