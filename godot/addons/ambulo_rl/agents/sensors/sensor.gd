class_name AmbuloSensor
extends Node
## What an agent senses, as a part of its observation that has this node's name.
##
## It senses from its parent, a Node3D or a Node2D, and in that node's axes (3D: -Z is ahead,
## 2D: +X is). Put it anywhere below an agent, or below the parent whose methods the agent calls.

## Names of groups: what is sensed is told apart by the first of them that it is in.
@export var classes: PackedStringArray = []
## Physics layers that are sensed.
@export_flags_3d_physics var collision_mask := 1
@export var collide_with_bodies := true
@export var collide_with_areas := false


## The rule that the node's properties break, or "".
func problem() -> String:
	if get_parent() is Node3D or get_parent() is Node2D:
		return ""
	return "its parent must be a Node3D or a Node2D"


## Shape and bounds of what it senses.
func part() -> AmbuloAgentPart:
	return AmbuloAgentPart.of(str(name), [(observe() as PackedFloat32Array).size()], false, -1, 1)


## What is sensed now: a [PackedFloat32Array], or the bytes of a picture.
func observe() -> Variant:
	return PackedFloat32Array()


## Index of the class of `thing`; -1: none.
func class_of(thing: Object) -> int:
	if thing is Node:
		for k in classes.size():
			if (thing as Node).is_in_group(classes[k]):
				return k
	return -1


## Bodies that are the sensor's own: the nearest above it.
func own_bodies() -> Array[RID]:
	var node := get_parent()
	while node != null:
		if node is CollisionObject3D:
			return [(node as CollisionObject3D).get_rid()]
		if node is CollisionObject2D:
			return [(node as CollisionObject2D).get_rid()]
		node = node.get_parent()
	return []


## Sets what a query of the physics looks at.
func set_up_query(query: RefCounted) -> void:
	query.set("collision_mask", collision_mask)
	query.set("collide_with_bodies", collide_with_bodies)
	query.set("collide_with_areas", collide_with_areas)
	query.set("exclude", own_bodies())
