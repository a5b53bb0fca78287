extends AmbuloTest
## The demo's arguments and files.


func test_what_is_refused() -> void:
	var cases: Dictionary[String, String] = {
		"--episodes=0": "--episodes: must be a whole number",
		"--episodes=many": "--episodes: must be a whole number",
		"--seed=x": "--seed=x: must be a whole number",
		"--levels=no/where": "no *.json level file there",
		"--policy=no.ambulo": "no.ambulo: File not found",
		"--policy=res://project.godot": "is no policy file",
		"--polices=a": "--polices=a: unknown; there are --policy=, --levels=",
		"seed": "seed: unknown; there are --policy=",
	}
	for argument in cases:
		var demo: Node = _demo()
		var problem: String = demo.call("prepare", PackedStringArray([argument]))
		check_contains(problem, cases[argument], argument)
		check(not problem.contains("\n"), "one line")
		demo.free()


func test_what_is_played_without_arguments() -> void:
	var demo: Node = _demo()
	check_equal(demo.call("prepare", PackedStringArray()), "")
	demo.free()


# The scene outside of the tree, where it does not begin to play.
func _demo() -> Node:
	return (load("res://scenes/demo/demo.tscn") as PackedScene).instantiate()
