"""Body trackers for Godot: the network and the body's measures, in one file of data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ambulo.configs.errors import ModelFileError
from ambulo.ik.avatar.layout import PARENTS, sole
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.shape import parts_of_joints
from ambulo.ik.trackers.sizes import INPUTS, OUTPUTS
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.motion.skeletons import load_skeleton
from ambulo.policies.export.characters import bone_name
from ambulo.policies.export.written import Written, pack_arrays
from ambulo.policies.files.archive import write_atomic

MAGIC = b"AMBULOB1"
"""First bytes of the file; the last one is the version of the format."""
GROUP = 4
"""Layers are computed in groups of so many numbers."""


def export_tracker(body: BodyTracker, path: Path) -> Written:
    """Write the network of a body tracker for the Godot add-on.

    Raises:
        ModelFileError: The file cannot be written, or a layer is no multiple of four.
    """
    write_atomic(path, pack_tracker(body.network))
    return Written((path,))


def pack_tracker(network: TrackerNetwork) -> bytes:
    """Return the file's bytes; the same network gives the same ones."""
    skeleton = load_skeleton("human23")
    widths = (len(network.encoder), network.units, len(network.decoder))
    if any(width % GROUP for width in widths):
        raise ModelFileError(
            f"layers of {widths}: for Godot they must be multiples of 4"
        )
    arrays: dict[str, NDArray[Any]] = {
        "encoder": network.encoder, "encoder_bias": network.encoder_bias,
        "inputs": network.inputs, "inputs_bias": network.inputs_bias,
        "states": network.states, "states_bias": network.states_bias,
        "decoder": network.decoder, "decoder_bias": network.decoder_bias,
        "output": network.output, "output_bias": network.output_bias,
        "offsets": skeleton.offsets, "sole": sole(skeleton),
    }  # fmt: skip
    header = {
        "kind": "body_tracker",
        "input_size": INPUTS,
        "output_size": OUTPUTS,
        "lead": network.lead,
        "parents": list(PARENTS),
        "parts": parts_of_joints().tolist(),
        "bones": [bone_name(joint) for joint in skeleton.joints],
    }
    return pack_arrays(MAGIC, header, arrays)
