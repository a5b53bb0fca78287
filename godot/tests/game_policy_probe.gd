extends SceneTree
## Plays recorded observations through [AmbuloPolicy], for the trainer's tests.
##
## `godot --headless --path godot -s res://tests/game_policy_probe.gd -- JOBS.json`: a list of
## {"policy", "kind", "seen", "output"}; "seen" is a list of observations by name. The file "output"
## gets the actions, and what went wrong: {"actions", "error", "usec"}.


func _init() -> void:
	var text := FileAccess.get_file_as_string(OS.get_cmdline_user_args()[0])
	for job: Dictionary in JSON.parse_string(text):
		var policy := AmbuloPolicy.new()
		policy.kind = job["kind"]
		var actions: Array[Dictionary] = []
		if policy.load_policy(str(job["policy"])):
			var begun := Time.get_ticks_usec()
			for seen: Dictionary in job["seen"]:
				actions.append(policy.act(seen))
			print("%.0f us" % (float(Time.get_ticks_usec() - begun) / len(actions)))
		var file := FileAccess.open(str(job["output"]), FileAccess.WRITE)
		file.store_string(
			JSON.stringify({"actions": actions, "error": policy.error}, "", true, true)
		)
		policy.free()
	quit(0)
