"""Reports of checks: lines in the panel, and a text that can be copied."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
from bpy.types import Scene

from .fk_checks import Check

TEXT = "Ambulo IK report"


def show_report(scene: Scene, title: str, checks: Sequence[Check]) -> bool:
    """Put `checks` into the panel and into a text; whether all of them passed."""
    lines = scene.ambulo_ik.report
    lines.clear()
    for check in checks:
        line = lines.add()
        line.name = f"{check.name}: {check.text}"
        line.state = "INFO" if check.passed is None else _word(check.passed)
    passed = all(check.passed is not False for check in checks)
    text = bpy.data.texts.get(TEXT) or bpy.data.texts.new(TEXT)
    text.clear()
    text.write(f"{title}: {_word(passed)}\n")
    for line in lines:
        text.write(f"{line.state}  {line.name}\n")
    return passed


def _word(passed: bool) -> str:
    return "PASS" if passed else "FAIL"
