"""Characters for Godot: the file, and that the shipped one is of this code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.envs.godot.locate import find_project
from ambulo.motion.skeletons import load_skeleton
from ambulo.motion.skinning.skin import body_skin
from ambulo.policies.agents.avatar import load_avatar
from ambulo.policies.export.characters import (
    MAGIC,
    bone_name,
    pack_character,
)
from ambulo.policies.export.written import unpack_arrays

PROFILE = {
    "Hips", "Spine", "Chest", "Neck", "Head",
    *(
        side + bone
        for side in ("Left", "Right")
        for bone in (
            "Shoulder", "UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes",
        )
    ),
}  # fmt: skip
"""Names of Godot's humanoid profile that a body without fingers and face has."""


def test_bones_have_the_names_of_godots_profile() -> None:
    names = [bone_name(joint) for joint in load_skeleton("human23").joints]
    assert len(set(names)) == 23
    assert set(names) - PROFILE == {"LeftSmallToes", "RightSmallToes"}
    assert names[:3] == ["Hips", "RightUpperLeg", "RightLowerLeg"]


def test_a_file_holds_the_table_and_the_skin() -> None:
    table = load_avatar(prior=None).table
    skin = body_skin(table.skeleton, 0.06)
    data = pack_character(table, skin)
    assert data == pack_character(table, skin)
    assert data.startswith(MAGIC)
    header, arrays = unpack_arrays(data)
    assert header["joints"] == list(table.skeleton.joints)
    for name, array in table.arrays().items():  # which is rounded to float32 already
        np.testing.assert_array_equal(arrays[name], array)
    np.testing.assert_array_equal(arrays["triangles"], skin.triangles)
    np.testing.assert_allclose(arrays["vertices"], skin.vertices, atol=1e-6)
    np.testing.assert_allclose(arrays["offsets"], table.skeleton.offsets, atol=1e-6)
    assert sum(array.size for array in arrays.values()) == header["numbers"]


@pytest.mark.slow
def test_the_shipped_character_is_what_export_writes() -> None:
    file = Path(find_project()) / "policies" / "vr_navigation_body.ambulo"
    header, arrays = unpack_arrays(file.read_bytes())
    table = load_avatar(prior=None).table
    made, wanted = unpack_arrays(pack_character(table, body_skin(table.skeleton)))
    assert made["arrays"] == header["arrays"]
    for name, array in wanted.items():
        np.testing.assert_allclose(arrays[name], array, atol=1e-5, err_msg=name)
