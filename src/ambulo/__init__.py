"""Ambulo: reinforcement-learning environments for embodied characters.

`import ambulo` loads nothing heavy; the environments are registered with Gymnasium
when `ambulo.envs` is imported, or by `ambulo.register()`.
"""

from importlib import import_module

__all__ = ["__version__", "register"]

__version__ = "0.1.0"


def register() -> None:
    """Register every environment with Gymnasium; a second call changes nothing."""
    # Not an import statement: `ambulo` stands below all of its folders.
    import_module("ambulo.envs")
