"""`ambulo data`: convert, describe, validate, draw and download motion files."""

from __future__ import annotations

from ambulo.commands.data import convert, fetch, info, plot, validate
from ambulo.common.actions import ActionCommand

main = ActionCommand(
    "ambulo data",
    "Convert, describe, validate, draw and download motion capture.",
    {
        "convert": convert,
        "info": info,
        "validate": validate,
        "plot": plot,
        "fetch": fetch,
    },
    """\
examples:
  ambulo data fetch cmu --subjects 02,07 --to cmu
  ambulo data info cmu/02
  ambulo data convert cmu/02/02_01.amc walk.bvh
  ambulo data convert cmu walks --to npz --fps 30 --skeleton human23
  ambulo data plot cmu/02/02_01.amc --mp4 walk.mp4
  ambulo data validate cmu
""",
)
