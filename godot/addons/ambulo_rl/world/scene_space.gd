class_name AmbuloSceneSpace
extends AmbuloHighSpace
## A user's own 3D scene as a place for players: whatever colliders it has are obstacles and
## floors, at their real heights.
##
## Colliders that move are seen where the engine has them at that moment. It costs some ten
## times as much as a flat level.

## Group of nodes that are people, as every CharacterBody3D is: touching one, or a body below one
## in the tree, counts as a collision with a person.
const PEOPLE := "people"
# Bodies at one place that are looked at.
const _MOST_BODIES := 16

## Height in the scene (Godot's Y) around which players are placed for whom no height is named,
## [m]: they stand on the highest floor that is at most 0.25 m above it.
var floor_height := 0.0
## Has no effect any more: rays see all that blocks a body, at any height.
var ray_height := 0.875


## Whether there is floor at (x, y), within a climb of [member floor_height].
func has_floor(x: float, y: float) -> bool:
	return not is_nan(support(x, y, floor_height, AmbuloContract.CLIMB_HEIGHT))


## See [AmbuloHighSpace]; notes whether it is people that push.
func find_overlaps(x: float, y: float) -> int:
	var count := super(x, y)
	if count == 0:
		return 0
	var people: Array[RID] = []
	for hit in _state.intersect_shape(_body, _MOST_BODIES):
		if _is_person(hit.collider as Node):
			people.append(hit.rid)
	if people.is_empty():
		touched_thing = true
		return count
	touched_person = true
	_body.exclude = excluded + people
	touched_thing = super(x, y) > 0 or touched_thing
	_body.exclude = excluded
	return super(x, y)


static func _is_person(node: Node) -> bool:
	while node != null:
		if node is CharacterBody3D or node.is_in_group(PEOPLE):
			return true
		node = node.get_parent()
	return false
