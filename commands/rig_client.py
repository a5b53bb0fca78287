"""`ambulo rig-client`: replay a clip to a rig server, and draw real beside predicted."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.commands.rig_server import (
    SECRET_VARIABLE,
    port_number,
    positive_float,
    positive_int,
    read_secret,
)
from ambulo.common.errors import Parser, front_door, set_up_logging
from ambulo.common.files import check_parent, without_nan, write_or_print
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ambulo.commands.rig.replay import Replay, Scores
    from ambulo.configs.arrays import Floats
    from ambulo.rig_server.client import RigClient
    from ambulo.rig_server.frames import RigFrame

EPILOG = """\
examples:
  ambulo rig-client --motion walk.bvh --picture walk.png
  ambulo rig-client --motion 02_01.amc --passes 2 --test 02_02.amc --gif walk.gif
  ambulo rig-client --motion walk.bvh --protocol 1 --speed 0
"""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Replay a clip; its exit code."""
    args = make_parser().parse_args(argv)
    set_up_logging(args)
    _check(args)
    secret = read_secret(args.secret_file)
    from ambulo.commands.rig.replay import replay_v1, scores_of
    from ambulo.rig_server.client import PublishedClient, RigClient
    from ambulo.rig_server.layout import LEGS, legs_of
    from ambulo.rig_server.messages import most_next

    most = most_next(LEGS.output_size)
    if args.free_run and args.free_run > most:
        raise ConfigError(
            f"--free-run {args.free_run}: at most {most} frames fit into an answer"
        )
    frames, fps = _frames(args.motion, args.passes)
    interval = 1.0 / (fps * args.speed) if args.speed else 0.0
    own = legs_of(frames[0].offsets)
    layout = own.named(args.name) if args.name else own
    tests: dict[str, tuple[list[RigFrame], float]] = {
        clip: _frames(clip, 1) for clip in args.test
    }
    scores: dict[str, Scores] = {}
    free: Floats | None = None
    if args.protocol == 1:
        with PublishedClient(args.host, args.port) as published:
            published.set_up(((0, layout.name),))
            replay = replay_v1(published, frames, interval)
    else:
        with RigClient(args.host, args.port, layout, secret=secret) as client:
            replay, free = _session(client, args, frames, interval)
            for clip, (unseen, _) in tests.items():
                scores[clip] = _tested(client, unseen)
    found = {args.motion: scores_of(replay)} | scores
    for clip, score in found.items():
        _tell(clip, score, "tested" if clip in scores else "learned")
    _write(args, replay, found, free, fps)
    return 0 if replay.predicted else 1


def _session(
    client: RigClient, args: argparse.Namespace, frames: list[RigFrame], interval: float
) -> tuple[Replay, Floats | None]:
    from ambulo.commands.rig.replay import free_run_positions, replay_v2

    welcome = client.connect(args.timeout)
    if welcome.frames:
        print(
            f"the server knows {welcome.frames} frames of it already", file=sys.stderr
        )
    replay = replay_v2(client, frames, interval)
    free = None
    if args.free_run:
        found = _free_run(client, args.free_run)
        free = None if found is None else free_run_positions(found, frames[0])
    return replay, free


def _free_run(client: RigClient, count: int) -> NDArray[np.float32] | None:
    client.request_next(count)
    end = time.monotonic() + 10.0
    while (left := end - time.monotonic()) > 0.0:
        for reply in client.replies(left):
            if reply.next is not None:
                return reply.next.values
            if reply.failure is not None:
                print(f"no free run: {reply.failure.text}", file=sys.stderr)
                return None
    print("no free run: the server does not answer", file=sys.stderr)
    return None


def _tested(client: RigClient, frames: list[RigFrame]) -> Scores:
    """Scores on frames that are answered but not learned from."""
    from ambulo.commands.rig.replay import replay_v2, scores_of
    from ambulo.rig_server.messages import Option

    return scores_of(replay_v2(client, frames, 0.0, Option.PREDICT))


def _frames(clip: str, passes: int) -> tuple[list[RigFrame], float]:
    from ambulo.commands.rig.replay import passes_of
    from ambulo.motion.formats.files import read_motion
    from ambulo.rig_server.replay import leg_frames

    motion = read_motion(resolve_path(clip), drop_tpose=True)
    return passes_of(leg_frames(motion), passes), motion.fps


def _tell(clip: str, score: Scores, how: str) -> None:
    name = Path(clip).name
    if not score.answered:
        print(f"{name} ({how}): no answer to {score.frames} frames")
        return
    print(
        f"{name} ({how}): {score.answered} of {score.frames} frames answered from frame "
        f"{score.first_answer} on; calves {score.calf_cm:.2f} cm (95 %: "
        f"{score.calf_p95_cm:.2f}), {score.calf_deg:.2f} deg; feet {score.foot_cm:.3f} cm, "
        f"{score.foot_deg:.2f} deg; answers after {score.delay_ms:.2f} ms"
    )


def _write(
    args: argparse.Namespace,
    replay: Replay,
    scores: dict[str, Scores],
    free: Floats | None,
    fps: float,
) -> None:
    values = {clip: asdict(score) for clip, score in scores.items()}
    extra = {"reconnected": replay.reconnected, "refused": replay.refused}
    if args.free_run:
        extra["free_run"] = 0 if free is None else len(free)
    text = json.dumps(without_nan({"clips": values} | extra), indent=2) + "\n"
    write_or_print(args.json, text)
    if not replay.predicted:
        return
    from ambulo.commands.rig.pictures import write_film, write_sheet
    from ambulo.commands.rig.replay import last_pass

    title = Path(args.motion).name
    if args.picture:
        write_sheet(resolve_path(args.picture), replay, title, free)
    if args.gif:
        write_film(resolve_path(args.gif), last_pass(replay, args.passes), fps)


def _check(args: argparse.Namespace) -> None:
    for file in (args.json, args.picture, args.gif):
        check_parent(file)
    if args.gif and Path(args.gif).suffix not in (".gif", ".mp4"):
        raise ConfigError(f"--gif {args.gif}: must end in .gif or .mp4")
    if args.picture and Path(args.picture).suffix != ".png":
        raise ConfigError(f"--picture {args.picture}: must end in .png")
    if args.protocol == 1 and (args.test or args.free_run):
        raise ConfigError("--test and --free-run need --protocol 2")
    if not 0.0 <= args.speed < float("inf"):
        raise ConfigError(f"--speed: at least 0, got {args.speed}")


def make_parser() -> Parser:
    """The command line of `ambulo rig-client`."""
    parser = Parser(
        prog="ambulo rig-client",
        description="Replay a motion file to a rig server as a game engine would: the "
        "seven bones of the legs (docs/rig_server.md).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--motion", required=True, metavar="FILE", help="BVH, AMC or NPZ with two legs")
    add("--host", default="127.0.0.1")
    add("--port", type=port_number, default=6003)
    add("--protocol", type=int, choices=(1, 2), default=2)
    add(
        "--name",
        metavar="NAME",
        help="whose anatomy it is (default: made from its bones)",
    )
    add("--secret-file", metavar="FILE", help=f"shared secret (or {SECRET_VARIABLE})")
    add("--passes", type=positive_int, default=1, metavar="N", help="replay N times")
    add(
        "--speed",
        type=float,
        default=1.0,
        metavar="X",
        help="times real time; 0: each frame when the last was answered",
    )
    add(
        "--test",
        action="append",
        default=[],
        metavar="FILE",
        help="then a clip that is answered but not learned from; may be repeated",
    )
    add(
        "--free-run", type=positive_int, metavar="N", help="then N frames without input"
    )
    add("--picture", metavar="FILE", help="a PNG of real beside predicted")
    add("--gif", metavar="FILE", help="a film of the last pass, .gif or .mp4")
    add("--json", metavar="FILE", help="scores as JSON, - for the screen")
    add("--timeout", type=positive_float, default=10.0, metavar="S")
    add("--log-level", metavar="LEVEL")
    add("--verbose", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
