"""Files that users name: pipes and devices are refused at once, sizes are bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fixtures.exits import refusal

from ambulo.cli import main
from ambulo.configs.reading import open_regular, read_regular, read_regular_text


def test_text_has_line_ends_of_one_character(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"a\r\nb\rc\n")
    assert read_regular_text(file) == "a\nb\nc\n"


def test_a_larger_file_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "a"
    with file.open("wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(OSError, match="at most 1000 are read"):
        read_regular(file, 1000)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_what_is_no_name_is_an_error_of_files(tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(OSError, match="not a file name"),
        open_regular(tmp_path / name),
    ):
        pass


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize(
    "command",
    [
        "export {}.zip --out o.onnx",
        "export {}.npz --out o.onnx",
        "eval {}.zip",
        "eval {}.safetensors",
        "eval {}.json",
        "train vr --config {}.json",
        "train walk --config {}.json",
        "train walk --resume {}.zip",
        "train ik --data {}.npz",
        "train gait --data {}.npz",
        "levels validate {}.json",
        "data info {}.bvh",
        "gait estimate {}.bvh",
        "rig-server --secret-file {}.json",
        "rig-client --motion {}.bvh",
    ],
)
def test_no_command_waits_for_a_pipe(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = str(tmp_path / "pipe")
    for ending in ("zip", "npz", "json", "safetensors", "bvh"):
        os.mkfifo(f"{pipe}.{ending}")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        text = refusal(main, command.format(pipe).split(), capsys)
    assert text.startswith("ambulo: error: ")
    assert f"{pipe}." in text
