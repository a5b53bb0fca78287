class_name AmbuloTrackerShape
extends RefCounted
## The player's proportions: lengths of trunk, arms and legs relative to human23.
##
## The computation is that of `ik/trackers/shape.py`.

const TRUNK := 0
const ARM := 1
const LEG := 2
const LEG_SHARE := 0.53
const SMALLEST := 0.45
const LARGEST := 1.6
const STATURE := 1.75
const PRIOR := 0.06
const CORRELATED := 1.0
const SETTLED := 1e-4

## Trunk, arms, legs.
var ratios: PackedFloat64Array = [1.0, 1.0, 1.0]
## Whether the proportions were given; otherwise the network corrects them.
var fixed := false

var _variance: PackedFloat64Array = [PRIOR * PRIOR, PRIOR * PRIOR, PRIOR * PRIOR]
var _pending: PackedFloat64Array = [0.0, 0.0, 0.0]


## Standing height relative to human23.
func scale() -> float:
	return LEG_SHARE * ratios[LEG] + (1.0 - LEG_SHARE) * ratios[TRUNK]


## Apply the network's [param output]; whether the ratios changed.
func update(output: PackedFloat32Array, first: int, interval: float) -> bool:
	if fixed:
		return false
	var largest := 0.0
	for i in 3:
		var noise := exp(clampf(output[first + 3 + i], -12.0, 4.0)) * CORRELATED / interval
		var gain := _variance[i] / (_variance[i] + noise)
		_variance[i] *= 1.0 - gain
		_pending[i] += gain * clampf(output[first + i], -0.3, 0.3)
		largest = maxf(largest, absf(_pending[i]))
	if largest < SETTLED:
		return false
	for i in 3:
		ratios[i] = clampf(ratios[i] * exp(_pending[i]), SMALLEST, LARGEST)
		_pending[i] = 0.0
	return true


## Offsets of the joints of [param file] with these lengths, [m].
func sized_offsets(file: AmbuloTrackerFile) -> PackedVector3Array:
	var out := PackedVector3Array()
	for joint in file.offsets.size():
		out.append(file.offsets[joint] * ratios[file.parts[joint]])
	var legs := -file.offsets[6].z
	var height := file.offsets[0].z
	out[0] = Vector3(0.0, 0.0, legs * ratios[TRUNK] + (height - legs) * ratios[LEG])
	return out
