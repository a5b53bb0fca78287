class_name AmbuloTrackerHold
extends RefCounted
## How firmly a tracker holds its joint: it lets go slowly and takes hold without a jump.
##
## The same sums as `_held` and `_calm` in `ik/trackers/fit.py`.

const TAKE := 0.2
const LET_GO := 0.4
const REST_FADE := 0.1
const CALM_RATE := 45.0

## From 0, as predicted, to 1, as given.
var weight := 0.0

var _there := false
var _once := false
var _offset := Vector3.ZERO
var _rest := Vector3.ZERO
var _calmed := false
var _calm := Vector3.ZERO
var _calm_speed := Vector3.ZERO


## The place to which the joint goes that is predicted at [param predicted].
func goal(place: Vector3, present: bool, predicted: Vector3, dt: float) -> Vector3:
	if present:
		var before := weight
		if weight == 0.0 and not _once:
			weight = 1.0
		elif not _there:
			_rest += before * (_offset - (place - predicted))
		weight = minf(weight + dt / TAKE, 1.0)
		_offset = place - predicted
		_there = true
		_once = true
	else:
		weight *= exp(-dt / LET_GO)
		_there = false
		if weight < 1e-3:
			weight = 0.0
	_rest *= exp(-dt / REST_FADE)
	return predicted + weight * _offset + _rest


## What the body is moved by for a head that is off by [param shift].
func calm(shift: Vector3, dt: float) -> Vector3:
	if not _calmed:
		_calmed = true
		_calm = shift
		_calm_speed = Vector3.ZERO
		return shift
	var decay := exp(-CALM_RATE * dt)
	var error := _calm - shift
	var drive := (_calm_speed + CALM_RATE * error) * dt
	_calm = shift + (error + drive) * decay
	_calm_speed = (_calm_speed - CALM_RATE * drive) * decay
	return _calm
