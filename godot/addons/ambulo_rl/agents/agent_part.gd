class_name AmbuloAgentPart
extends RefCounted
## A named part of an observation: numbers, or a picture of bytes.

var name := ""
var shape: PackedInt32Array = []
var is_picture := false
## Least and largest value; not finite: unbounded.
var low := -INF
var high := INF
## Product of the shape.
var size := 1


## A part of this shape.
static func of(
	part_name: String, part_shape: PackedInt32Array, picture := false, least := -INF, largest := INF
) -> AmbuloAgentPart:
	var part := AmbuloAgentPart.new()
	part.name = part_name
	part.shape = part_shape
	part.is_picture = picture
	part.low = 0.0 if picture else least
	part.high = 255.0 if picture else largest
	for length in part_shape:
		part.size *= length
	return part


## As JSON data; an absent bound is null.
func to_dict() -> Dictionary:
	var least: Variant = null
	var largest: Variant = null
	if is_finite(low):
		least = low
	if is_finite(high):
		largest = high
	return {
		"name": name,
		"shape": Array(shape),
		"dtype": "uint8" if is_picture else "float32",
		"low": least,
		"high": largest,
	}
