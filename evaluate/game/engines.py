"""The agents of a game, opened: engines are started, or a running one is attached to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ambulo.configs.agent_spec import AgentSpec
from ambulo.configs.errors import ModelFileError
from ambulo.configs.godot import GameConfig
from ambulo.evaluate.game.agents import AgentsBatch


def open_agents(
    config: GameConfig, *, seed: int, log_folder: Path | None = None
) -> AgentsBatch:
    """Return the agents of a game, not yet reset.

    Args:
        config: Where it is, and how it is stepped.
        seed: Of the first agent; the others have the next ones.
        log_folder: Folder of the engines' logs; None: a temporary one.
    """
    raise NotImplementedError


def check_kinds(
    ours: Sequence[AgentSpec], theirs: Sequence[AgentSpec], source: str
) -> None:
    """Raise `ModelFileError` where a game has other agents than a model was trained with.

    Args:
        ours: Kinds of the model.
        theirs: Kinds of the game.
        source: Begins the error.
    """
    known = {kind.name: kind for kind in theirs}
    for kind in ours:
        if kind.name not in known:
            names = ", ".join(known)
            raise ModelFileError(f"{source}: plays {kind.name!r}, the game has {names}")
        if kind != known[kind.name]:
            raise ModelFileError(
                f"{source}: {kind.name!r} was trained with {_text(kind)}, "
                f"the game has {_text(known[kind.name])}"
            )
    if tuple(ours) != tuple(theirs):
        raise ModelFileError(
            f"{source}: plays {', '.join(k.name for k in ours)} in this order, the game has "
            f"{', '.join(known)}"
        )


def _text(kind: AgentSpec) -> str:
    seen = ", ".join(f"{part.name}{list(part.shape)}" for part in kind.observation)
    acted = ", ".join(f"{part.name}[{part.outputs}]" for part in kind.action)
    return f"{seen} -> {acted}"
