class_name AmbuloLevelFloor
extends RefCounted
## Caches how far around a place the floor is level, in a scene whose floors are static, so that
## rays and steps need not query it again.

## Size of the places, and spacing of the examined points, [m].
const CELL := 0.25
## Largest examined distance, [m].
const FARTHEST := 2.0
## Heights that differ by less count as level, [m].
const EVEN := 0.01
## Most cached places.
const MOST := 200_000
const _HALF_DIAGONAL := 0.18

var _radii: Dictionary[Vector3i, float] = {}


## Radius around (x, y) in which the floor of [param space] is certainly at height [param z], [m].
func radius(space: AmbuloSpace, x: float, y: float, z: float) -> float:
	var key := Vector3i(floori(x / CELL), floori(y / CELL), roundi(z / EVEN))
	var found: float = _radii.get(key, -1.0)
	if found < 0.0:
		if _radii.size() >= MOST:
			_radii.clear()
		found = _look(space, (key.x + 0.5) * CELL, (key.y + 0.5) * CELL, z)
		_radii[key] = found
	return found


func _look(space: AmbuloSpace, x: float, y: float, z: float) -> float:
	if not _is_level(space, x, y, z):
		return 0.0
	var reach := 0.0
	while reach < FARTHEST:
		var next := reach + CELL
		var count := ceili(TAU * next / CELL)
		for k in count:
			var angle := TAU * k / count
			if not _is_level(space, x + next * cos(angle), y + next * sin(angle), z):
				return maxf(reach - _HALF_DIAGONAL, 0.0)
		reach = next
	return reach - _HALF_DIAGONAL


func _is_level(space: AmbuloSpace, x: float, y: float, z: float) -> bool:
	return absf(space.support(x, y, z, AmbuloContract.CLIMB_HEIGHT) - z) <= EVEN
