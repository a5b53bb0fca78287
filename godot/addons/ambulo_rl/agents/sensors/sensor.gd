class_name AmbuloSensor
extends Node
## What an agent senses, as a part of its observation that has this node's name.
##
## It senses from its parent, a Node3D or a Node2D, and in that node's axes (3D: -Z is ahead,
## 2D: +X is). Put it anywhere below an agent, or below the parent whose methods the agent calls.


## The rule that the node's properties break, or "".
func problem() -> String:
	if get_parent() is Node3D or get_parent() is Node2D:
		return ""
	return "its parent must be a Node3D or a Node2D"


## Shape and bounds of what it senses.
func part() -> AmbuloAgentPart:
	return AmbuloAgentPart.of(str(name), [(observe() as PackedFloat32Array).size()])


## What is sensed now: a [PackedFloat32Array], or the bytes of a picture.
func observe() -> Variant:
	return PackedFloat32Array()
