extends AmbuloTest
## The overlay that the editor draws of a play-test: what is where, and what is refused.

const SCENE := "res://rooms/hall.tscn"


func report_data() -> Dictionary:
	var heat := {"name": "stuck", "title": "Time lost", "unit": "s", "cell_size_m": 0.25}
	heat["cells"] = [[1.0, 2.0, 0.0, 10.0], [1.25, 2.0, 0.0, 5.0], [1.0, 2.0, 3.0, 1.0]]
	var sealed := {"name": "unreachable", "unit": "1", "cell_size_m": 0.25}
	sealed["cells"] = [[4.0, -1.0, 3.0, 0]]
	var nothing := {"name": "collisions", "unit": "collisions", "cell_size_m": 0.25, "cells": []}
	var first := {"kind": "sealed", "fails": true, "mark": "A", "text": "Sealed area A"}
	first["position"] = [4.0, -1.0, 3.0]
	var second := {"kind": "success", "fails": true, "mark": "", "text": "Few", "position": null}
	var level := {"scene": {"path": SCENE}, "passed": false}
	level["problems"] = [first, second]
	level["warnings"] = ["no heights"]
	level["heat_maps"] = [heat, nothing, sealed]
	var other := {"scene": {"path": "res://other.tscn"}, "problems": [], "heat_maps": []}
	var found := {"format": "ambulo-playtest", "version": 1, "levels": [other, level]}
	return found


func read(data: Variant) -> AmbuloPlaytestReport:
	return AmbuloPlaytestReport.of_text(JSON.stringify(data), "x.json", SCENE)


func test_the_report_of_the_open_scene_is_taken() -> void:
	var report := read(report_data())
	check_equal(report.problem, "", "problem")
	check_equal(report.maps.size(), 3, "maps")
	check_equal(report.problems.size(), 1, "problems with a place")
	check_equal(report.problem_count, 2, "problems")
	check_equal(report.warnings, PackedStringArray(["no heights"]), "warnings")
	check_equal(report.map_named("stuck").values, PackedFloat64Array([10.0, 5.0, 1.0]), "values")


func test_cells_and_markers_are_where_they_belong() -> void:
	var overlay := AmbuloPlaytestOverlay.of(read(report_data()))
	var scene := Node3D.new()
	scene.position = Vector3(5, 1, -3)  # the report is in the world's frame
	scene.rotation.y = 1.0
	tree.root.add_child(scene)
	scene.add_child(overlay, false, Node.INTERNAL_MODE_BACK)
	check_equal(overlay.map_names(), PackedStringArray(["stuck"]), "maps with cells")
	var cells := overlay.map_node("stuck").multimesh
	check_equal(cells.instance_count, 3, "cells")
	check_equal((cells.mesh as PlaneMesh).size, Vector2(0.25, 0.25), "size")
	check_equal(overlay.global_transform, Transform3D.IDENTITY, "frame")
	var marker := overlay.find_child("Problem_sealed_A", false, false) as Node3D
	check(marker.global_position.is_equal_approx(Vector3(1.0, 3.0, -4.0)), "marker")
	var places := overlay.cell_places("stuck")
	var lift := AmbuloPlaytestOverlay.LIFT
	check(places[2].is_equal_approx(Vector3(-2.0, 3.0 + lift, -1.0)), "upper cell")
	check(places[1].is_equal_approx(Vector3(-2.0, lift, -1.25)), "lower cell")
	scene.free()


func test_one_map_is_shown_and_unreachable_floor_stays() -> void:
	var overlay := AmbuloPlaytestOverlay.of(read(report_data()))
	check(not overlay.map_node("stuck").visible, "before")
	overlay.show_map("stuck")
	check(overlay.map_node("stuck").visible, "chosen")
	check(overlay.map_node("unreachable").visible, "unreachable")
	overlay.show_map("presence")
	check(not overlay.map_node("stuck").visible, "another")
	check(overlay.map_node("unreachable").visible, "still unreachable")
	overlay.free()


func test_no_scene_is_saved_with_the_overlay() -> void:
	var scene := Node3D.new()
	var child := Node3D.new()
	scene.add_child(child)
	child.owner = scene
	scene.add_child(AmbuloPlaytestOverlay.of(read(report_data())), false, Node.INTERNAL_MODE_BACK)
	var packed := PackedScene.new()
	check_equal(packed.pack(scene), OK, "packed")
	check_equal(packed.get_state().get_node_count(), 2, "nodes")
	scene.free()


func test_colours_end_where_nearly_all_values_do() -> void:
	var values := PackedFloat64Array()
	for k in 100:
		values.append(k)
	values[99] = 1e6
	check_near(AmbuloPlaytestOverlay.scale_end(values), 97.0, 0.5, "end")
	check(AmbuloPlaytestOverlay.scale_end([0.0]) > 0.0, "zeros")


func test_bad_reports_have_one_message() -> void:
	var cases: Dictionary[String, Variant] = {
		"format: is no report of a play-test": [1, 2],
		"levels: none of them is of res://rooms/hall.tscn":
		{"format": "ambulo-playtest", "version": 1, "levels": []},
		"version: expected 1, got 2.0": {"format": "ambulo-playtest", "version": 2},
	}
	for message in cases:
		check_equal(read(cases[message]).problem, "x.json: %s" % message)
	var broken := AmbuloPlaytestReport.of_text("{", "x.json", SCENE)
	check_contains(broken.problem, "x.json: line 0: ", "no JSON")
	var data := report_data()
	data["levels"][1]["heat_maps"][0]["cells"][1] = [1.0, "two", 0.0, 5.0]
	check_contains(read(data).problem, "heat_maps[0].cells[1][1]: expected a number", "cell")
	data = report_data()
	data["levels"][1]["heat_maps"][0]["cell_size_m"] = 0
	check_contains(read(data).problem, "heat_maps[0].cell_size_m: must be in", "size")
	data = report_data()
	data["levels"][1]["problems"][0]["position"] = [1, 2]
	check_contains(read(data).problem, "problems[0].position: expected 3 numbers", "place")
	var missing := AmbuloPlaytestReport.read("res://none.json", SCENE)
	check_contains(missing.problem, "res://none.json: ", "no file")
