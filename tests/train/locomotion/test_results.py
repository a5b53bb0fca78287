"""Curves of a training of a walker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ambulo.common import figures
from ambulo.train.locomotion.results import CURVES, learning_curves
from ambulo.train.shared.run_folders import LocomotionRunFolder


@pytest.mark.parametrize("evaluated", [False, True])
def test_what_was_not_measured_has_no_panel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evaluated: bool
) -> None:
    """Without evaluations (`--eval-freq 0`) no axes stay empty."""
    drawn: list[Any] = []
    monkeypatch.setattr(figures, "png_of", lambda figure: drawn.append(figure) or b"")
    folder = LocomotionRunFolder(tmp_path)
    rows = "timesteps,rollout/ep_rew_mean,rollout/ep_len_mean,train/approx_kl"
    folder.metrics.write_text(f"{rows}\n1000,1,50,\n2000,2,60,0.01\n")
    if evaluated:
        row = {"timesteps": 2000, "survival_rate": 0.5}
        folder.evaluations.write_text(json.dumps([row]))
    learning_curves(folder)
    titles = [axes.get_title() for axes in drawn[0].axes]
    assert titles == list(CURVES.values())[0 if evaluated else 1 :]
    assert all(len(axes.lines[0].get_xdata()) for axes in drawn[0].axes)
