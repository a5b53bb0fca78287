"""The commands as data: what each is called, says of itself, and where its code is.

Nothing here imports a command: one is loaded when it is called.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ambulo.configs


@dataclass(frozen=True)
class Row:
    """A command, or a group of commands."""

    summary: str
    """One line for the list of commands."""
    target: str = ""
    """`module:attribute` of the command; empty for a group."""
    rows: Mapping[str, Row] = field(default_factory=dict)
    """Commands of a group by name."""
    description: str = ""
    """Purpose of a group, for its help."""
    epilog: str = ""
    """End of a group's help."""
    word: str = "ACTION"
    """How the help writes a name of the group's commands."""
    kind: str = "action"
    """Noun for a name of the group in errors."""

    @property
    def line(self) -> str:
        """The summary with the names of a group's commands."""
        names = ", ".join(self.rows)
        return f"{self.summary}: {names}" if names else self.summary

    def leaves(self, *names: str) -> Iterator[tuple[tuple[str, ...], Row]]:
        """Yield every command below this row with the words that it is called by."""
        if not self.rows:
            yield names, self
        for name, row in self.rows.items():
            yield from row.leaves(*names, name)


def _rows(place: str, **texts: str) -> dict[str, Row]:
    """Return commands by name: those of one module, or `main` of each module of a package.

    Args:
        place: A module, which ends in `:`, or a package.
        texts: Summary of each command by its name.
    """
    ends = "{}" if place.endswith(":") else ".{}:main"
    return {
        name.rstrip("_").replace("_", "-"): Row(
            summary, f"ambulo.{place}{ends.format(name)}"
        )
        for name, summary in texts.items()
    }


_TRAININGS: dict[str, dict[str, Any]] = {}
for _file in sorted(Path(ambulo.configs.__path__[0], "trainings").glob("*.json")):
    _TRAININGS |= json.loads(_file.read_text("utf-8"))["commands"]

TRAIN = Row(
    "train or resume",
    rows={
        word: Row(row["summary"], f"{row['module']}:main")
        for word, row in _TRAININGS.items()
    },
    description="Train or resume a policy or a network.",
    word="KIND",
    kind="kind of training",
)
"""`ambulo train`."""
ALIASES: dict[str, str] = {
    former: word for word, row in _TRAININGS.items() for former in row.get("former", ())
}
"""Earlier spellings of `ambulo train KIND`."""

DATA = Row(
    "motion capture",
    rows=_rows(
        "commands.data.flags:",
        convert="change format, rate or skeleton",
        info="describe files",
        validate="check files",
        plot="draw a clip",
        fetch="download motion capture by subject",
    ),
    description="Convert, describe, validate, draw and download motion capture.",
    epilog="""\
examples:
  ambulo data fetch cmu --subjects 02,07 --to cmu
  ambulo data info cmu/02
  ambulo data convert cmu/02/02_01.amc walk.bvh
  ambulo data convert cmu walks --to npz --fps 30 --skeleton human23
  ambulo data plot cmu/02/02_01.amc --mp4 walk.mp4
  ambulo data validate cmu
""",
)
BODY = Row(
    "bodies of one's own",
    rows=_rows(
        "commands.body",
        make="a body of capsules from a rig",
        check="what is found of a body, and whether it stands",
    ),
    description="Bodies of one's own: make one from a rig, or check one.",
    epilog="""\
examples:
  ambulo body make hero.glb --height 1.8 --mass 80 --out hero.xml
  ambulo body check hero.xml
  ambulo body check robot.urdf --json - --no-picture
""",
)
GAIT = Row(
    "gaits",
    rows=_rows(
        "commands.gait.flags:",
        generate="write a walk of chosen stride, cadence and body",
        reference="write a gait that a simulated body can follow",
        estimate="estimate the gait parameters of a clip",
        report="score a gait network on gaits that it has not seen",
        extract_cycles="make training data of captured walks and runs",
        train_estimator="prepare the way back from motions to parameters",
        compose="join a gait policy and its corrections in one model file",
    ),
    description="Walks from gait parameters, and gait parameters from walks.",
    epilog="`ambulo train gait` trains the network that these use.",
)
IK = Row(
    "training data of inverse kinematics",
    rows=_rows(
        "commands.ik.flags:",
        extract="poses of motion files",
        sequences="motions of many people, for body trackers",
    ),
    description="Prepare neural inverse kinematics.",
    epilog="`ambulo train ik` trains on what `ambulo ik extract` writes, `ambulo train "
    "trackers`\non what `ambulo ik sequences` writes.",
)
LEVELS = Row(
    "level files",
    rows=_rows(
        "commands.levels:",
        generate="write levels of a family",
        import_="make a level of a Godot scene",
        validate="check a file, or all of a folder",
        draw="draw a map of a level, or of a folder's",
        schema="print the JSON schema of level files, for editors",
    ),
    description="Generate, import, validate, draw and describe level files.",
)

_LISTS = "ambulo.commands.describe"
AMBULO = Row(
    "",
    rows={
        "train": TRAIN,
        **_rows(
            "commands.sweeps.flags:",
            sweep="train many seeds and settings, and write one report",
            compare="say whether a difference between runs is real",
            tune="search for good settings of a training",
        ),
        "eval": Row("score an agent beside baselines", "ambulo.evaluate.command:main"),
        **_rows(
            "commands", rollouts="record episodes of an agent as a data set of Minari"
        ),
        **_rows(
            "commands.viewing.flags:",
            play="show a model that acts, in the browser",
            watch="show a training run in the browser, running or finished",
        ),
        **_rows(
            "commands",
            playtest="let agents walk through levels, and report faults of the levels",
        ),
        "export": Row(
            "write a model as ONNX, or a body as MJCF",
            "ambulo.commands.export_agent:main",
        ),
        "models": Row("list the models that can be loaded", f"{_LISTS}:models"),
        **_rows(
            "commands.hub.flags:",
            push="share a model on the Hugging Face hub",
            pull="take a model from the Hugging Face hub",
        ),
        **_rows("commands", page="build a static web page that plays recordings"),
        "levels": LEVELS,
        "eval-motion": Row("score a motion network", "ambulo.train.eval_motion:main"),
        "data": DATA,
        "body": BODY,
        **_rows(
            "commands",
            fit="make a clip feasible for a simulated body",
            fit_twin="fit the fast model of a walker that navigation trains on",
        ),
        "gait": GAIT,
        "ik": IK,
        **_rows(
            "commands.trackers.flags:",
            track="a whole body from a recording of headset and controllers",
            track_server="answer live streams of headset and controllers with bodies",
        ),
        **_rows(
            "commands",
            rig_server="learn characters from streams of poses",
            rig_client="replay a clip to a rig server",
        ),
        "schema": Row("print observation and action layout", f"{_LISTS}:schema"),
        "presets": Row("list the presets, or print one", f"{_LISTS}:presets"),
        **_rows(
            "commands",
            new="write a task of your own to begin with",
            doctor="versions, engines and caches of this machine, and what is missing for "
            "what",
            completion="print the completion script of a shell",
        ),
    },
    description="Reinforcement learning of VR navigation and locomotion.",
    word="COMMAND",
    kind="command",
)
"""All commands."""
