"""Make docs/images/ik_*.gif: what each action of inverse kinematics does to a standing body.

python tools/make_ik_films.py [NAME ...] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ambulo.ik.actions.action import IKAction, Timing, acting
from ambulo.ik.actions.body import Crouch, Lean
from ambulo.ik.actions.feet import Foot, FootPlant, Step
from ambulo.ik.actions.gaze import LookAt
from ambulo.ik.actions.hands import Grab, Reach
from ambulo.ik.actions.standing import standing_pose
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.layers.layer import LayerKind, PoseLayer, Provider, Tick
from ambulo.ik.layers.stack import LayerStack
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig, load_rig
from ambulo.ik.solver.targets import Targets
from ambulo.motion.motion import Motion
from ambulo.viz.skeleton_actor import actor_of
from ambulo.viz.skeleton_film import write_film

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
FEET: tuple[Foot, Foot] = ("LeftFoot", "RightFoot")
FPS = 12.5
"""Frame rate of the films, [Hz]."""
PANEL = 240
"""Width and height of a picture, [px]."""
SLIDE = 0.12
"""How far the feet slide in the film of FootPlant, [m]."""


@dataclass(frozen=True)
class FilmScene:
    """One film."""

    name: str
    """Name of the file, without its ending."""
    title: str
    """Over the picture."""
    actions: tuple[IKAction, ...]
    """Actions, which begin together."""
    seconds: float
    """How long, [s]."""
    slides: bool = False
    """Whether the animation below slides its feet."""


def scenes(rig: Rig) -> list[FilmScene]:
    """A scene for each action, and one of several together."""
    goals = EffectorGoals.at(Targets.of_pose(rig, standing_pose(rig)))
    left, right = goals.position("LeftHand")[0], goals.position("RightHand")[0]
    feet = {name: goals.position(name)[0] for name in FEET}
    there = Timing(begin=0.2, rise=0.8, hold=0.6, fall=0.8)
    shelf = right + np.array([0.35, 0.05, 0.3])
    ahead = np.array([0.32, 0.0, 0.0])

    def flying(time: float) -> np.ndarray:
        angle = 1.1 * np.sin(2.0 * np.pi * time / 3.0)
        return np.array([2.0 * np.cos(angle), 2.0 * np.sin(angle), 1.6])

    walk = tuple(
        Step(
            rig,
            foot,
            feet[foot] + strides * ahead,
            begin=0.2 + 0.55 * k,
            seconds=0.55,
        )
        for k, (foot, strides) in enumerate(
            zip((*FEET, *FEET), (1.0, 2.0, 3.0, 3.0), strict=True)
        )
    )
    plants = tuple(FootPlant.of(goals, foot) for foot in FEET)
    grab = Grab("RightHand", shelf, shelf + np.array([0.0, 0.3, -0.25]), begin=0.2)
    return [
        FilmScene("look_at", "LookAt", (LookAt(rig, flying, timing=there),), 3.0),
        FilmScene(
            "reach",
            "Reach",
            (Reach("LeftHand", left + np.array([0.35, -0.05, 0.55]), timing=there),),
            2.8,
        ),
        FilmScene(
            "grab", "Grab", (grab, LookAt(rig, grab.object_at, timing=there)), 3.0
        ),
        FilmScene("lean", "Lean", (Lean(rig, 0.45, 0.6, timing=there),), 2.8),
        FilmScene("crouch", "Crouch", (Crouch(rig, 0.35, timing=there),), 2.8),
        FilmScene("step", "Step", walk, 2.8),
        FilmScene("foot_plant", "FootPlant", plants, 2.8, True),
        FilmScene(
            "together",
            "Crouch + Reach + LookAt",
            (
                Crouch(rig, 0.3, timing=there),
                Reach("RightHand", right + np.array([0.4, 0.1, -0.2]), timing=there),
                LookAt(rig, right + np.array([0.4, 0.1, -0.2]), timing=there),
            ),
            2.8,
        ),
    ]


def base_of(rig: Rig, slides: bool) -> Provider:
    """The animation below: standing, or swaying from side to side as a whole."""
    pose = standing_pose(rig)

    def provide(tick: Tick) -> Pose:
        sway = SLIDE * np.sin(2.0 * np.pi * tick.time / 1.4) if slides else 0.0
        return Pose(pose.root + np.array([0.0, sway, 0.0]), pose.rotations)

    return provide


def play(rig: Rig, scene: FilmScene, fps: float = FPS) -> Motion:
    """The frames of a scene, through the layers."""
    stack = LayerStack(rig, base_of(rig, scene.slides))
    stack.add(
        PoseLayer("actions", LayerKind.IK, acting(scene.actions), fade_in=0.0), 0.0
    )
    frames = [stack.tick(k / fps).pose for k in range(round(scene.seconds * fps))]
    pose = Pose(
        np.concatenate([frame.root for frame in frames]),
        np.concatenate([frame.rotations for frame in frames]),
    )
    return pose.motion(rig, fps)


def write_films(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """Write `ik_NAME.gif` of the scenes called `names`, or of all, into `folder`."""
    rig = load_rig()
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for scene in scenes(rig):
        if not names or scene.name in names:
            file, actor = folder / f"ik_{scene.name}.gif", actor_of(play(rig, scene))
            write_film(file, [actor], FPS, title=scene.title, panel=PANEL)
            files.append(file)
    return files


def main(argv: Sequence[str] | None = None) -> int:
    """Write the films and print their names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="(default: all)")
    parser.add_argument("--out", type=Path, default=FOLDER)
    args = parser.parse_args(argv)
    known = [scene.name for scene in scenes(load_rig())]
    if unknown := set(args.names) - {*known}:
        parser.error(f"no film of {', '.join(sorted(unknown))}: {', '.join(known)}")
    print(*write_films(args.out, args.names), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
