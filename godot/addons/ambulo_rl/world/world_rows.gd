class_name AmbuloWorldRows
extends RefCounted
## The states of the agents of an [AmbuloWorld]: one row of 64-bit floats each.

const POSITION := 0
const YAW := 3
const VELOCITY := 4
const YAW_RATE := 7
const COMMAND := 8
const RAYS := 11
## From the end of the rays on:
const PATH := 0
const CONTACT_TICKS := 1
const COLLISIONS := 2
const SINCE_CONTACT := 3
const PEOPLE_TICKS := 4
const PEOPLE_COLLISIONS := 5
const SINCE_PERSON := 6
const MOVES := 7
const SNAPS := 8
const COOLDOWN := 9
const FELL := 11
const FALLING := 12
const TAIL := 13

## Number of agents.
var num_agents := 0
## Settings.
var spec := AmbuloSpec.new()
## 64-bit floats per agent, see [method state_layout].
var state_width := 0

var _rows: PackedFloat64Array = []


## Name, first index and length of each part of a state row.
static func state_layout(num_rays: int) -> Array[Dictionary]:
	var parts: Array[Array] = [
		["position", 3],
		["yaw", 1],
		["velocity", 3],
		["yaw_rate", 1],
		["command", 3],
		["rays", num_rays],
		["path", 1],
		["contact_ticks", 1],
		["collisions", 1],
		["since_contact", 1],
		["people_ticks", 1],
		["people_collisions", 1],
		["since_person", 1],
		["moves", 1],
		["snaps", 1],
		["cooldown", 2],
		["fell", 1],
		["falling", 1],
	]
	var layout: Array[Dictionary] = []
	var start := 0
	for part in parts:
		layout.append({"name": part[0], "start": start, "size": part[1]})
		start += part[1]
	return layout


## Copies of the state rows of [param agents], one after the other.
func state_rows(agents: PackedInt64Array) -> PackedFloat64Array:
	var rows := PackedFloat64Array()
	for agent in agents:
		rows.append_array(_rows.slice(agent * state_width, (agent + 1) * state_width))
	return rows


## A copy of the state rows of all agents.
func all_rows() -> PackedFloat64Array:
	return _rows.duplicate()
