"""The head that says when an agent is lost, at the end of a training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ambulo.common.console import announce
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.evaluate.vr.lost.calibration import calibrated
from ambulo.evaluate.vr.lost.rollouts import Progress
from ambulo.policies.agents.navigation import load_navigation
from ambulo.policies.files.model_file import save_model
from ambulo.train.shared.run_folders import NavigationRunFolder


def add_heads(folder: NavigationRunFolder, episodes: int, *, shown: bool) -> None:
    """Give the best and the final model of a run the heads that they lack.

    A run that was stopped before all had theirs does the rest when it is resumed. A model
    that cannot have one stays as it is, and a line says why.

    Args:
        folder: Of the run.
        episodes: On training levels, see `calibrated`; 0 adds no heads.
        shown: Whether to print what begins.
    """
    if episodes == 0:
        return
    for file in (folder.best_model, folder.final_model):
        model = load_navigation(file)
        if model.metadata.lost is not None:
            continue
        announce(f"{file.stem}: learning to say when it is lost ...", shown)
        try:
            save_model(file, calibrated(model, bars=_silent, episodes=episodes))
        except (ConfigError, ModelFileError) as error:
            announce(f"{file.stem}: has no head that says when it is lost: {error}")


@contextmanager
def _silent(name: str, episodes: int) -> Iterator[Progress]:
    """Show nothing."""
    del name, episodes
    yield lambda ended: None
