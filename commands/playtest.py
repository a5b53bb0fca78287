"""`ambulo playtest`: let agents walk through levels, and report their faults."""

from __future__ import annotations

from ambulo.common.command_line import Command
from ambulo.evaluate.playtest.flags import PlaytestFlags

EPILOG = """\
exit codes: 0 fine; 1 a level has problems; 2 bad input

examples:
  ambulo playtest my_level.json                   200 agents, report in playtest_1/
  ambulo playtest my_levels/ --agents 500 --out report
  ambulo playtest new.json --compare old.json     is the new version better?
  ambulo playtest my_level.json --agent oracle    an agent that knows the level
  ambulo playtest my_level.json --min-success 0.9 --max-stuck 2
  ambulo playtest res://rooms/hall.tscn --godot-project my_game
"""

main = Command(
    "ambulo playtest", PlaytestFlags, "ambulo.commands.playtesting:playtest", EPILOG
)
