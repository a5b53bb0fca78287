"""`ambulo body`: bodies of one's own."""

from __future__ import annotations

from ambulo.commands.body import check, make
from ambulo.common.actions import ActionCommand

main = ActionCommand(
    "ambulo body",
    "Bodies of one's own: make one from a rig, or check one.",
    {"make": make, "check": check},
    """\
examples:
  ambulo body make hero.glb --height 1.8 --mass 80 --out hero.xml
  ambulo body check hero.xml
  ambulo body check robot.urdf --json - --no-picture
""",
)
