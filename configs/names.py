"""Rules for names of levels, runs and models, which appear in paths, tables and web pages."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class NameRule:
    """Rule for names of one kind."""

    expected: str
    """The rule, as shown in errors."""
    pattern: re.Pattern[str]
    """Pattern that matches a whole name."""

    def allows(self, name: str) -> bool:
        """Return whether a text is a valid name."""
        return name.isprintable() and self.pattern.fullmatch(name) is not None

    def checked(self, name: str) -> str:
        """Return a valid name; `ValueError` with the rule for others."""
        if not self.allows(name):
            raise ValueError(f"expected {self.expected}")
        return name


LEVEL = NameRule(
    'one line of 1 to 200 characters, without any of < > & " ` \\',
    re.compile(r"""(?=.*\S)[^<>&"`\\]{1,200}"""),
)
"""Names of levels and of level families."""
RUN = NameRule("letters, digits and . _ + - only", re.compile(r"\w[\w.+-]*"))
"""Names of runs, sweeps and studies, which are their folder names."""
MODEL = NameRule(
    "letters, digits, _ and - (at most 64), the first a letter or a digit",
    re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"),
)
"""Names of models, and of folders everywhere."""
