class_name AmbuloPlaytestReport
extends RefCounted
## What `ambulo playtest SCENE --json FILE` found in one scene, checked so that it can be drawn.
## Positions are in the contract's axes (docs/playtest.md, "playtest.json").


## Where something happened how much: square cells on the floors.
class HeatMap:
	extends RefCounted

	## Key in the file.
	var name := ""
	## For people.
	var title := ""
	## Unit of the values.
	var unit := ""
	## Side of a cell, [m].
	var cell_size := 0.0
	## Middles of the cells: x, y and height of the floor, [m].
	var cells: PackedVector3Array = []
	## A value for each cell.
	var values: PackedFloat64Array = []


## Something to look at.
class Problem:
	extends RefCounted

	## Kind, as in the file.
	var kind := ""
	## The scene fails because of it.
	var fails := false
	## Letter or number on the plan, or nothing.
	var mark := ""
	## What is wrong.
	var text := ""
	## x, y and height of the floor, [m].
	var place := Vector3.ZERO


const FORMAT := "ambulo-playtest"
const VERSION := 1
## Largest coordinate, [m].
const FARTHEST := 1e5
const _LARGEST := 1e12

## What is wrong with the file as one line; empty while everything is fine.
var problem := ""
## `res://` path of the scene.
var scene := ""
## What limits the worth of the play-test, a sentence each.
var warnings: PackedStringArray = []
## Whether nothing fails the scene.
var passed := false
## Those that have a place, the ones that fail first.
var problems: Array[Problem] = []
## All problems, also those without a place.
var problem_count := 0
var maps: Array[HeatMap] = []

var _checks := AmbuloChecks.new()


## The report in the file at [param path], about the scene at [param wanted].
static func read(path: String, wanted: String) -> AmbuloPlaytestReport:
	var file := FileAccess.open(path, FileAccess.READ)
	if file == null:
		var found := AmbuloPlaytestReport.new()
		found.problem = "%s: %s" % [path, error_string(FileAccess.get_open_error())]
		return found
	return of_text(file.get_as_text(), path, wanted)


## The report in [param text] of the file at [param path].
static func of_text(text: String, path: String, wanted: String) -> AmbuloPlaytestReport:
	var found := AmbuloPlaytestReport.new()
	var json := JSON.new()
	if json.parse(text) != OK:
		var at := json.get_error_line()
		found.problem = "%s: line %d: %s" % [path, at, json.get_error_message()]
		return found
	found._take(json.data, wanted)
	if not found._checks.problem.is_empty():
		found.problem = "%s: %s" % [path, found._checks.problem]
	return found


## The heat map called [param name], or null.
func map_named(name: String) -> HeatMap:
	for map in maps:
		if map.name == name:
			return map
	return null


func _take(data: Variant, wanted: String) -> void:
	if not data is Dictionary or (data as Dictionary).get("format") != FORMAT:
		_checks.fail("format", "is no report of a play-test")
		return
	var table: Dictionary = data
	if table.get("version") != float(VERSION):
		var shown := AmbuloChecks.shown(table.get("version"))
		_checks.fail("version", "expected %d, got %s" % [VERSION, shown])
		return
	var level := _level_of(_checks.list(table, "levels"), wanted)
	if level.is_empty():
		if _checks.problem.is_empty():
			_checks.fail("levels", "none of them is of %s" % wanted)
		return
	scene = wanted
	passed = level.get("passed") == true
	for text: Variant in _checks.list(level, "warnings"):
		warnings.append(str(text))
	var rows := _checks.list(level, "problems")
	problem_count = rows.size()
	for k in rows.size():
		_take_problem(rows[k], "problems[%d]" % k)
	rows = _checks.list(level, "heat_maps")
	for k in rows.size():
		_take_map(rows[k], "heat_maps[%d]" % k)


func _level_of(levels: Array, wanted: String) -> Dictionary:
	for row: Variant in levels:
		if not row is Dictionary:
			continue
		var source: Variant = (row as Dictionary).get("scene")
		if source is Dictionary and (source as Dictionary).get("path") == wanted:
			return row
	return {}


func _take_problem(data: Variant, key: String) -> void:
	if not data is Dictionary:
		_checks.fail(key, "expected an object, got %s" % AmbuloChecks.shown(data))
		return
	var row: Dictionary = data
	if row.get("position") == null:
		return
	var found := Problem.new()
	found.kind = str(row.get("kind", ""))
	found.fails = row.get("fails") == true
	found.mark = str(row.get("mark", ""))
	found.text = str(row.get("text", ""))
	var numbers := _numbers(row["position"], key + ".position", 3)
	if numbers.size() == 3:
		found.place = Vector3(numbers[0], numbers[1], numbers[2])
		problems.append(found)


func _take_map(data: Variant, key: String) -> void:
	if not data is Dictionary:
		_checks.fail(key, "expected an object, got %s" % AmbuloChecks.shown(data))
		return
	var row: Dictionary = data
	var found := HeatMap.new()
	found.name = str(row.get("name", ""))
	found.title = str(row.get("title", ""))
	found.unit = str(row.get("unit", ""))
	found.cell_size = _checks.number(row.get("cell_size_m"), key + ".cell_size_m", 0.01, 1e4)
	var cells := _checks.list(row, "cells")
	for k in cells.size():
		var numbers := _numbers(cells[k], "%s.cells[%d]" % [key, k], 4)
		if numbers.size() != 4:
			return
		found.cells.append(Vector3(numbers[0], numbers[1], numbers[2]))
		found.values.append(numbers[3])
	maps.append(found)


func _numbers(value: Variant, key: String, count: int) -> PackedFloat64Array:
	if not value is Array or (value as Array).size() != count:
		_checks.fail(key, "expected %d numbers, got %s" % [count, AmbuloChecks.shown(value)])
		return []
	var found: PackedFloat64Array = []
	for k in count:
		var most := FARTHEST if k < 3 else _LARGEST
		found.append(_checks.number(value[k], "%s[%d]" % [key, k], -most, most))
	return found
