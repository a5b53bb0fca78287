class_name AmbuloSceneSpace
extends AmbuloHighSpace
## A user's own 3D scene as a place for players: whatever colliders it has are obstacles and
## floors, at their real heights.
##
## Colliders that move are seen where the engine has them at that moment. It costs some ten
## times as much as a flat level.

## Height in the scene (Godot's Y) around which players are placed for whom no height is named,
## [m]: they stand on the highest floor that is at most 0.25 m above it.
var floor_height := 0.0
## Has no effect any more: rays see all that blocks a body, at any height.
var ray_height := 0.875


## Whether there is floor at (x, y), within a climb of [member floor_height].
func has_floor(x: float, y: float) -> bool:
	return not is_nan(support(x, y, floor_height, AmbuloContract.CLIMB_HEIGHT))
