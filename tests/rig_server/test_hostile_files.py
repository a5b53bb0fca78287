"""Stored rigs that somebody made to break the server that loads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from ambulo.rig_server import store
from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.learner import RigLearner
from ambulo.rig_server.messages import Kind
from ambulo.rig_server.packets import Packet
from ambulo.rig_server.sequence import SequenceLearner

ENGINE = ("127.0.0.1", 4001)
Arrays = dict[str, NDArray[Any]]
Stream = list[NDArray[np.float32]]


@pytest.fixture(scope="module")
def stored(
    walk: list[RigFrame], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Arrays]:
    """The JSON part and the arrays of a whole, learned file."""
    learner, sequence = RigLearner(LEGS), SequenceLearner(LEGS)
    for frame in walk[:300]:
        learner.observe(frame)
        sequence.add(frame, follows=True)
        learner.learn()
        sequence.learn()
    path = tmp_path_factory.mktemp("rig") / "rig.safetensors"
    path.write_bytes(store.to_bytes(learner, sequence))
    with safetensors.safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(file.metadata()["rig"])
    assert any(name.startswith("sequence.") for name in arrays)
    return about, arrays


def write(path: Path, about: str, arrays: Arrays) -> None:
    metadata = {"format": store.FORMAT, "version": store.VERSION, "rig": about}
    path.write_bytes(safetensors.numpy.save(arrays, metadata))


def served(make: Callable[..., Any], folder: Path, stream: Stream) -> Any:
    """A server that loads the folder's rig, streamed to, asked for all it can tell."""
    bench = make(models=folder)
    session = bench.streamed(ENGINE, stream[:40])
    for number, kind in enumerate((Kind.STATUS_REQUEST, Kind.NEXT_REQUEST), start=900):
        payload = b"\x08\0\0\0" if kind == Kind.NEXT_REQUEST else b""
        bench.give(Packet(kind, session, number, payload), ENGINE)
    while bench.server.work():
        pass
    assert bench.server.broken == 0
    return bench.server


HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "frames": lambda about: about.update(frames=2**70),
    "learned": lambda about: about.update(learned=2**63),
    "no number": lambda about: about.update(frames="9" * 5000),
    "errors": lambda about: about["errors"].update(position_error=1e300),
    "name of an error": lambda about: about["errors"].update(nonsense=0.0),
    "list of errors": lambda about: about.update(errors=[1]),
    "infinite": lambda about: about["errors"].update(loss=float("inf")),
    "layout": lambda about: about.update(layout=None),
    "nested": lambda about: "[" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_description_out_of_range_is_learned_anew(
    make: Callable[..., Any],
    stored: tuple[dict[str, Any], Arrays],
    stream: Stream,
    tmp_path: Path,
    name: str,
) -> None:
    about = json.loads(json.dumps(stored[0]))
    text = HOSTILE[name](about) or json.dumps(about)
    write(tmp_path / store.file_name(LEGS), text, stored[1])
    assert served(make, tmp_path, stream).clients.damaged_files == 1


VALUES = (0.0, -1.0, 1e5, 1e30, -1e30, 3e38, float("nan"), 2**62, -(2**62))


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(4))
def test_no_array_breaks_the_server(
    make: Callable[..., Any],
    stored: tuple[dict[str, Any], Arrays],
    stream: Stream,
    tmp_path: Path,
    seed: int,
) -> None:
    about, whole = stored
    rng = np.random.default_rng(seed)
    for name in sorted(whole):
        array = whole[name].copy()
        with np.errstate(invalid="ignore"):
            value = np.array(VALUES[rng.integers(len(VALUES))]).astype(array.dtype)
        if array.ndim and rng.random() < 0.5:
            array[rng.integers(len(array))] = value
        else:
            array[...] = value
        if rng.random() < 0.2:
            array = array.reshape(-1)[:3]
        write(
            tmp_path / store.file_name(LEGS), json.dumps(about), whole | {name: array}
        )
        server = served(make, tmp_path, stream)
        [client] = server.characters.values()
        assert np.isfinite(client.models.learner.network.flat).all()
