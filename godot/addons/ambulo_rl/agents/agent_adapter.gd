class_name AmbuloAgentAdapter
extends RefCounted
## One agent of a scene, however its node is written; see its subclasses for how they are.

## How a step ended, beside 0: it goes on.
const TERMINATED := 1
const TRUNCATED := 2

## The node in the scene; it may have been freed since.
var node: Node
## Name of its kind.
var kind := ""
## What it broke: "get_reward(): expected a number, got null"; "": nothing so far.
var problem := ""
## Path in the scene, for messages.
var path := ""
## Its observation after the last step.
var seen: Dictionary = {}
## Its game begins episodes anew without being asked, so what is seen at an end is the next one's.
var begins_by_itself := false


## Whether the node is still there.
func is_alive() -> bool:
	return is_instance_valid(node) and node.is_inside_tree()


## The parts of its observation, as [AmbuloAgentPart]s; after a [member problem] not all of them.
func parts() -> Array[AmbuloAgentPart]:
	return []


## Its actions, as [AmbuloAgentPart]s, in order.
func actions() -> Array[AmbuloAgentPart]:
	return []


## Values by name of part; a [PackedByteArray] is a picture.
func observe() -> Dictionary:
	return {}


## Does [param action]: a [PackedFloat32Array] or, where it is discrete, an int, by name.
func act(_action: Dictionary) -> void:
	pass


## Whether its scripts can act by themselves.
func has_script() -> bool:
	return false


## What they would do now.
func scripted_action() -> Dictionary:
	return {}


## The reward of this step.
func take_reward() -> float:
	return 0.0


## How the step ended: 0, [constant TERMINATED] or [constant TRUNCATED].
func outcome() -> int:
	return 0


## What its scripts say of this step.
func info() -> Dictionary:
	return {}


## Begins an episode. [param alone]: others go on with theirs.
func restart(_episode_seed: int, _alone: bool) -> void:
	pass


## Forgets what happened while an episode began.
func settle() -> void:
	pass


## A physics tick is about to begin.
func begin_tick() -> void:
	pass


## The observation just before the agent began anew by itself; empty: it has not.
func last_observation() -> Dictionary:
	return {}


## Whether it will begin anew by itself in the next tick.
func is_restarting() -> bool:
	return false


func _fail(rule: String) -> void:
	if problem == "":
		problem = rule


func _actions(space: Variant) -> Array[AmbuloAgentPart]:
	var errors := PackedStringArray()
	var result := AmbuloAgentPart.of_actions(_table(space, "get_action_space"), errors)
	if not errors.is_empty():
		_fail("get_action_space(): %s" % errors[0])
	return result


func _number(value: Variant, method: String) -> float:
	var type := typeof(value)
	if type == TYPE_FLOAT or type == TYPE_INT or type == TYPE_BOOL:
		return float(value)
	_fail("%s(): expected a number, got %s" % [method, AmbuloChecks.shown(value)])
	return 0.0


func _table(value: Variant, method: String) -> Dictionary:
	if value is Dictionary:
		return value
	_fail("%s(): expected a Dictionary, got %s" % [method, AmbuloChecks.shown(value)])
	return {}
