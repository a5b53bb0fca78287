extends Node2D
## A wrestler: it pushes, and is thrown back by what it meets: the farther, the harder it pushes
## then. A charge carries momentum into the clash and leaves the wrestler open, so that who eases
## off just before it wins.

const Ring := preload("ring.gd")
const PUSH := 500.0
const DRAG := 2.0
const BOUNCE := 1.6
## Factors on the shock of a clash, for wrestlers that do not push and that push with all force.
const FIRM := 0.4
const OPEN := 1.6

var velocity := Vector2.ZERO
var _push := Vector2.ZERO
var _other: Node2D

@onready var _agent: AmbuloAgent2D = get_child(-1)


func _ready() -> void:
	for sibling in get_parent().get_children():
		if sibling != self:
			_other = sibling
			_other.set("_other", self)


func get_action_space() -> Dictionary:
	return {"push": {"size": 2}}


func set_action(action: Dictionary) -> void:
	_push = Vector2(action["push"][0], action["push"][1]).limit_length()


# Turned so that the opponent is ahead: both sides see the same.
func get_observation() -> Dictionary:
	var ahead := -(_other.position - position).angle()
	var mine := (velocity / 200.0).rotated(ahead)
	var theirs := ((_other.get("velocity") as Vector2) / 200.0).rotated(ahead)
	var middle := (-position / Ring.RADIUS).rotated(ahead)
	var apart := position.distance_to(_other.position) / Ring.RADIUS
	return {"duel": [mine.x, mine.y, theirs.x, theirs.y, middle.x, middle.y, apart]}


func is_done() -> bool:
	return _is_out(self) or _is_out(_other)


func get_info() -> Dictionary:
	return {"success": _is_out(_other) and not _is_out(self)}


func get_reward() -> float:
	return float(_is_out(_other)) - float(_is_out(self))


## What a wrestler without training does: it pushes at the opponent.
func get_scripted_action() -> Dictionary:
	return {"push": PackedFloat32Array([1.0, 0.0])}


func reset(episode_seed: int) -> void:
	var rng := RandomNumberGenerator.new()
	rng.seed = episode_seed
	var side := -1.0 if name == &"red" else 1.0
	position = Vector2(side * 50.0, rng.randf_range(-40.0, 40.0))
	velocity = Vector2.ZERO
	_push = Vector2.ZERO


func _physics_process(delta: float) -> void:
	if is_done():
		return
	var towards := position.direction_to(_other.position)
	velocity += (_push.rotated(towards.angle()) * PUSH - velocity * DRAG) * delta
	position += velocity * delta
	var closing := (velocity - (_other.get("velocity") as Vector2)).dot(towards)
	if position.distance_to(_other.position) < 2.0 * Ring.BODY and closing > 0.0:
		var shock := 0.5 * (1.0 + BOUNCE) * closing * towards
		throw_back(-shock)
		_other.call("throw_back", shock)


## Takes the shock of a clash.
func throw_back(shock: Vector2) -> void:
	velocity += shock * lerpf(FIRM, OPEN, _push.length())


static func _is_out(wrestler: Node2D) -> bool:
	return wrestler.position.length() > Ring.RADIUS


func _draw() -> void:
	draw_circle(Vector2.ZERO, Ring.BODY, Color.RED if name == &"red" else Color.BLUE)
