"""Names of levels, runs and models: they stand in paths, tables, pages and the viewer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator


@dataclass(frozen=True)
class NameRule:
    """Which texts are names of one kind of thing."""

    expected: str
    """The rule, as errors say it."""
    pattern: re.Pattern[str]
    """What matches the whole of a name."""

    def allows(self, name: str) -> bool:
        """Return whether a text is a name."""
        return name.isprintable() and self.pattern.fullmatch(name) is not None

    def checked(self, name: str) -> str:
        """Return a name; `ValueError` with the rule for what is none."""
        if not self.allows(name):
            raise ValueError(f"expected {self.expected}")
        return name


LEVEL = NameRule(
    'one line of 1 to 200 characters, without any of < > & " ` \\',
    re.compile(r"""(?=.*\S)[^<>&"`\\]{1,200}"""),
)
"""Names of levels and of level families."""
RUN = NameRule("letters, digits and . _ + - only", re.compile(r"\w[\w.+-]*"))
"""Names of runs, sweeps and studies, which are those of their folders."""
MODEL = NameRule(
    "letters, digits, _ and - (at most 64), the first a letter or a digit",
    re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"),
)
"""Names of models, and of folders everywhere."""

ModelName = Annotated[str, AfterValidator(MODEL.checked)]
