"""`ambulo rig-client`: replay a clip to a rig server, and draw real beside predicted."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ambulo.commands.network_flags import SecretFlags
from ambulo.common.command_line import Arg, command
from ambulo.common.files import json_text, write_or_print
from ambulo.common.flag_types import (
    Count,
    JsonFile,
    OutFile,
    Port,
    Positive,
    ending,
    rule,
)
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


def _is_speed(value: float) -> bool:
    return 0.0 <= value < math.inf


@dataclass(frozen=True, kw_only=True)
class RigClientFlags(SecretFlags):
    """Replay a motion file to a rig server as a game engine would.

    It sends the seven bones of the legs (docs/rig_server.md).
    """

    motion: Annotated[str, Arg("FILE")]
    """BVH, AMC or NPZ with two legs"""
    host: str = "127.0.0.1"
    """address of the server"""
    port: Port = 6003
    """its UDP port"""
    protocol: Literal[1, 2] = 2
    """version of the protocol"""
    name: str | None = None
    """whose anatomy it is (default: made from its bones)"""
    passes: Count = 1
    """replay N times"""
    speed: Annotated[float, Arg("X"), rule(_is_speed, "must be at least 0")] = 1.0
    """times real time; 0: each frame when the last was answered"""
    test: Annotated[tuple[str, ...], Arg("FILE", repeated=True)] = ()
    """then a clip that is answered but not learned from (repeatable)"""
    free_run: Count | None = None
    """then N frames without input"""
    picture: Annotated[OutFile | None, ending(".png")] = None
    """a PNG of real beside predicted"""
    gif: Annotated[OutFile | None, ending(".gif", ".mp4")] = None
    """a film of the last pass, .gif or .mp4"""
    json: JsonFile | None = None
    """scores as JSON, to FILE or to standard output"""
    timeout: Annotated[Positive, Arg("S")] = 10.0
    """time to wait for the server"""

    def __post_init__(self) -> None:
        """Refuse what version 1 cannot do."""
        super().__post_init__()
        if self.protocol == 1 and (self.test or self.free_run):
            raise ConfigError("--test and --free-run need --protocol 2")


@command("ambulo rig-client", EPILOG)
def main(flags: RigClientFlags) -> int:
    """Replay a clip; its exit code."""
    flags.set_up_logging()
    secret = flags.secret()
    from ambulo.commands.rig.replay import replay_v1, scores_of
    from ambulo.rig_server.client import PublishedClient, RigClient
    from ambulo.rig_server.layout import LEGS, legs_of
    from ambulo.rig_server.messages import most_next

    most = most_next(LEGS.output_size)
    if flags.free_run and flags.free_run > most:
        raise ConfigError(
            f"--free-run {flags.free_run}: at most {most} frames fit into an answer"
        )
    frames, fps = _frames(flags.motion, flags.passes)
    interval = 1.0 / (fps * flags.speed) if flags.speed else 0.0
    own = legs_of(frames[0].offsets)
    layout = own.named(flags.name) if flags.name else own
    tests: dict[str, tuple[list[RigFrame], float]] = {
        clip: _frames(clip, 1) for clip in flags.test
    }
    scores: dict[str, Scores] = {}
    free: Floats | None = None
    if flags.protocol == 1:
        with PublishedClient(flags.host, flags.port) as published:
            published.set_up(((0, layout.name),))
            replay = replay_v1(published, frames, interval)
    else:
        with RigClient(flags.host, flags.port, layout, secret=secret) as client:
            replay, free = _session(client, flags, frames, interval)
            for clip, (unseen, _) in tests.items():
                scores[clip] = _tested(client, unseen)
    result = {flags.motion: scores_of(replay)} | scores
    for clip, score in result.items() if flags.json != "-" else ():
        _tell(clip, score, "tested" if clip in scores else "learned")
    _write(flags, replay, result, free, fps)
    return 0 if replay.predicted else 1


def _session(
    client: RigClient, flags: RigClientFlags, frames: list[RigFrame], interval: float
) -> tuple[Replay, Floats | None]:
    from ambulo.commands.rig.replay import free_run_positions, replay_v2

    welcome = client.connect(flags.timeout)
    if welcome.frames:
        print(
            f"the server knows {welcome.frames} frames of it already", file=sys.stderr
        )
    replay = replay_v2(client, frames, interval)
    free = None
    if flags.free_run:
        result = _free_run(client, flags.free_run)
        free = None if result is None else free_run_positions(result, frames[0])
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
    from ambulo.motion.formats.files import read_motion
    from ambulo.rig_server.replay import leg_frames

    motion = read_motion(resolve_path(clip), drop_tpose=True)
    return list(leg_frames(motion)) * passes, motion.fps


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
    flags: RigClientFlags,
    replay: Replay,
    scores: dict[str, Scores],
    free: Floats | None,
    fps: float,
) -> None:
    values = {clip: asdict(score) for clip, score in scores.items()}
    extra = {"reconnected": replay.reconnected, "refused": replay.refused}
    if flags.free_run:
        extra["free_run"] = 0 if free is None else len(free)
    write_or_print(flags.json, json_text({"clips": values} | extra, indent=2))
    if not replay.predicted:
        return
    from ambulo.commands.rig.pictures import write_film, write_sheet
    from ambulo.commands.rig.replay import last_pass

    title = Path(flags.motion).name
    if flags.picture:
        write_sheet(resolve_path(flags.picture), replay, title, free)
    if flags.gif:
        write_film(resolve_path(flags.gif), last_pass(replay, flags.passes), fps)
