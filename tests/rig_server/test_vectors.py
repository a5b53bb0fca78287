"""The test vectors of docs/rig_protocol.md: bytes that every implementation must agree on.

`python tests/ik/rig_server/test_vectors.py` writes them anew after a change of the
protocol.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ambulo.rig_server import messages, packets, packets_v1, tracker_messages
from ambulo.rig_server.layout import LEGS, RigLayout
from ambulo.rig_server.messages import ErrorCode, Kind, Option, Result
from ambulo.rig_server.packets import Packet

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "data" / "rig_protocol" / "vectors.json"
SPECIFICATION = ROOT / "docs" / "rig_protocol.md"
SECRET = b"a secret for test vectors"
SESSION = 0x1122334455667788
ARM = RigLayout("arm", ("root", "upper", "lower", "hand"), (-1, 0, 1, 2), (3,), 1.0)

TRACK_HEADER = (
    '{"format": "ambulo-trackers", "version": 1, "convention": "openxr", '
    '"trackers": ["Head", "LeftHand"]}'
)


def frame_values() -> np.ndarray:
    """63 floats: quarters, exact in float32; every quaternion is the identity."""
    values = np.arange(63, dtype=np.float32) / 4
    for bone in range(7):
        values[7 * bone + 3 : 7 * bone + 7] = (0.0, 0.0, 0.0, 1.0)
    return values


def tracker_payloads() -> dict[str, tuple[Kind, int, int, bytes]]:
    """Type, session, sequence and payload of each message of a stream of trackers."""
    poses = np.arange(14, dtype=np.float32).reshape(2, 7) / 8
    poses[:, 3:] = (0.0, 0.0, 0.0, 1.0)
    row = tracker_messages.TrackersMessage(0.5, np.array([True, False]), poses)
    turns = np.tile(np.array([1.0, 0.0, 0.0, 0.0], np.float32), (2, 1))
    skeleton = tracker_messages.SkeletonMessage(
        7, (-1, 0), np.array([[0.0, 0.0, 1.0], [0.0, 0.25, -0.5]], np.float32)
    )
    body = tracker_messages.BodyMessage(
        2, 0.5, 0, (0, 1), False, np.array([0.5, 0.25, 1.0], np.float32),
        np.array([1.0, 0.5, 0.25, 0.0], np.float32), turns,
    )  # fmt: skip
    hello = tracker_messages.TrackHello(7, TRACK_HEADER)
    return {
        "v2_track": (Kind.TRACK, 0, 1, tracker_messages.encode_track(hello)),
        "v2_trackers": (
            Kind.TRACKERS, SESSION, 2, tracker_messages.encode_trackers(row),
        ),
        "v2_skeleton": (
            Kind.SKELETON, SESSION, 1, tracker_messages.encode_skeleton(skeleton),
        ),
        "v2_body": (Kind.BODY, SESSION, 2, tracker_messages.encode_body(body)),
    }  # fmt: skip


def cases() -> dict[str, bytes]:
    """Every datagram by its name."""
    answer = np.tile(np.array([0.0, 0.0, 0.0, 1.0], np.float32), 6)
    status = messages.Status(
        300, 280, 5, 2.0**-12, 0.125, 0.0078125, 0.03125, 2.0**-11, True, 96, 3
    )
    run = np.zeros((2, 7 + ARM.output_size), np.float32)
    run[:, 6] = run[:, 10] = run[:, 14] = run[:, 18] = 1.0
    payloads: dict[str, tuple[Kind, int, int, bytes]] = {
        "v2_hello": (Kind.HELLO, 0, 1, messages.encode_hello(messages.Hello(7, ARM))),
        "v2_frames": (
            Kind.FRAMES, SESSION, 2,
            messages.encode_frames(
                messages.FramesMessage(Option.LEARN | Option.PREDICT, frame_values()[None])
            ),
        ),
        "v2_status_request": (Kind.STATUS_REQUEST, SESSION, 3, b""),
        "v2_next_request": (
            Kind.NEXT_REQUEST, SESSION, 4, messages.encode_next_request(240),
        ),
        "v2_bye": (Kind.BYE, SESSION, 5, b""),
        "v2_ping": (Kind.PING, SESSION, 6, b"ping"),
        "v2_welcome": (
            Kind.WELCOME, SESSION, 1,
            messages.encode_welcome(messages.Welcome(7, 1200, 35, 12, True)),
        ),
        "v2_ack": (
            Kind.ACK, SESSION, 2, messages.encode_ack(messages.Ack(2, Result.LEARNED)),
        ),
        "v2_status": (Kind.STATUS, SESSION, 3, messages.encode_status(status)),
        "v2_prediction": (
            Kind.PREDICTION, SESSION, 4,
            messages.encode_answer(
                messages.Answer(2, np.array([[True, False]]), answer[None])
            ),
        ),
        "v2_next": (Kind.NEXT, SESSION, 5, messages.encode_next(messages.Next(run))),
        "v2_pong": (Kind.PONG, SESSION, 6, b"ping"),
        "v2_error": (
            Kind.ERROR, SESSION, 0,
            messages.encode_failure(
                messages.Failure(ErrorCode.BAD_RIG, 1, "a parent must come before")
            ),
        ),
    }  # fmt: skip
    payloads |= tracker_payloads()
    found = {
        "v1_setup": packets_v1.encode_setup(tuple(enumerate(LEGS.bones))),
        "v1_frame": packets_v1.encode_frames(frame_values()),
        "v1_prediction": packets_v1.encode_prediction(answer),
        "v1_ping": b"\x00",
    }
    for name, (kind, session, sequence, payload) in payloads.items():
        found[name] = packets.encode(Packet(kind, session, sequence, payload))
    kind, session, sequence, payload = payloads["v2_ping"]
    found["v2_ping_signed"] = packets.encode(
        Packet(kind, session, sequence, payload), SECRET
    )
    return found


def stored() -> dict[str, str]:
    vectors: dict[str, str] = json.loads(FILE.read_text())["vectors"]
    return vectors


@pytest.mark.parametrize("name", cases())
def test_vector(name: str) -> None:
    assert cases()[name].hex() == stored()[name]


def test_no_vector_is_left_over() -> None:
    assert set(stored()) == set(cases())


def test_the_examples_of_the_specification_are_these() -> None:
    text = "".join(SPECIFICATION.read_text().split())
    for name in ("v2_ping", "v2_ping_signed", "v2_hello"):
        assert stored()[name] in text, name


def write() -> None:
    """Write the file."""
    about = "hex of whole datagrams; v2_ping_signed: secret is " + SECRET.decode()
    vectors = {name: data.hex() for name, data in cases().items()}
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps({"about": about, "vectors": vectors}, indent=1) + "\n")


if __name__ == "__main__":
    write()
