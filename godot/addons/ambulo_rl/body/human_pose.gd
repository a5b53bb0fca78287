class_name AmbuloHumanPose
extends RefCounted
## A pose of human23: local rotations, and what follows of them.

## Local rotations of the joints; the pelvis' is its orientation.
var local: Array[Quaternion] = []
## World orientations of the joints.
var world: Array[Quaternion] = []
## World positions of the joints, [m].
var positions: PackedVector3Array = []
## Offsets of the joints from their parents, [m].
var offsets: PackedVector3Array = []
## Parents of the joints.
var parents: PackedInt32Array = []
