"""Write tests/data/ik/blender_ik23.npz: Blender's results for the `ik23` rig.

With the file, `tests/ik/test_blender_golden.py` compares our kinematics with Blender's on
machines without Blender. Run it in the environment of `make test-blender`, after a change of
the rig:

    .venv-blender/bin/python blender/golden.py
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import bpy
import numpy as np

from ambulo.configs.atomic import replace_file
from ambulo.ik.rig import load_rig

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from ambulo_ik.binding import bind  # noqa: E402
from ambulo_ik.fk_checks import posed_matrices, random_poses, rest_matrices  # noqa: E402
from ambulo_ik.rig_builder import add_armature  # noqa: E402

TARGET = HERE.parent / "tests" / "data" / "ik" / "blender_ik23.npz"
POSES = 100


def main() -> int:
    """Build the rig in Blender, pose it, and write Blender's results."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    rig = load_rig("ik23")
    armature = add_armature(bpy.context, rig.skeleton)
    binding = bind(armature, rig)
    poses = random_poses(POSES, len(rig))
    rotations = poses.rotations.astype(np.float32)
    matrices = posed_matrices(bpy.context, armature, binding, poses)
    data = io.BytesIO()
    np.savez_compressed(
        data,
        blender=np.array(bpy.app.version_string),
        bones=np.array(binding.names),
        rest=rest_matrices(armature, binding).astype(np.float32),
        root=poses.root,
        rotations=rotations,
        matrices=matrices[..., :3, :].astype(np.float32),
    )
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    replace_file(TARGET, data.getvalue())
    print(f"{TARGET}: {POSES} poses, {len(data.getvalue()) / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
