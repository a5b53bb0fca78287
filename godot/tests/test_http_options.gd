extends AmbuloTest
## User arguments of the server, and the watch over the process that started it.


func test_defaults() -> void:
	var options := _parsed([])
	check_equal([options.port, options.agents, options.token], [8080, 1, ""])
	check_equal(options.mode, AmbuloServerOptions.Mode.PLAY, "a game's own headless run")
	check_equal(options.explicit, false)
	check_equal(_parsed(["--port=1"]).mode, AmbuloServerOptions.Mode.LOCKSTEP, "headless server")
	check_equal(_parsed(["--agents=2", "--mode=play"]).mode, AmbuloServerOptions.Mode.PLAY)


func test_all_of_them() -> void:
	var options := _parsed(
		[
			"--port=0",
			"--agents=16",
			"--token=a=b",
			"--mode=play",
			"--max-body=5000",
			"--host=Box.Local",
			"--parent-pid=5",
			"--idle-exit=60",
			"--spin=0",
			"--no-server",
		]
	)
	check_equal([options.port, options.agents, options.token], [0, 16, "a=b"])
	check_equal([options.mode, options.max_body], [AmbuloServerOptions.Mode.PLAY, 5000])
	check_equal([options.host, options.parent_pid, options.idle_exit], ["box.local", 5, 60])
	check_equal([options.explicit, options.enabled, options.spin], [true, false, 0])


func test_refusals_name_the_argument() -> void:
	for argument: String in [
		"--port=8O80",
		"--port=70000",
		"--port=-1",
		"--port",
		"--agents=0",
		"--agents=1e3",
		"--mode=fast",
		"--token=",
		"--max-body=1",
		"--parent-pid=0",
		"--idle-exit=-2",
		"--spin=-1",
		"--prot=8080",
		"--",
		"",
	]:
		var errors := PackedStringArray()
		var arguments: PackedStringArray = ["--idle-exit=9", argument]
		check_equal(AmbuloServerOptions.parse(arguments, [], errors), null, argument)
		check_equal(errors.size(), 1)
		check_equal(errors[0].begins_with(argument + ": "), true, errors[0])


func test_arguments_of_others() -> void:
	var errors := PackedStringArray()
	var options := AmbuloServerOptions.parse(
		["--policy=x", "--quick"], ["--policy", "--quick"], errors
	)
	check_equal(errors.size(), 0)
	check_equal(options.explicit, false)
	options = AmbuloServerOptions.parse(["--port=0", "--policy=x"], ["--policy"], errors)
	check_equal([options.explicit, errors.size()], [true, 0])


func test_a_game_keeps_its_own_arguments() -> void:
	for arguments: PackedStringArray in [["--quick", "level2", "--", ""], ["--no-server", "--x"]]:
		check_equal(_parsed(arguments).explicit, false, str(arguments))
	var errors := PackedStringArray()
	var options := AmbuloServerOptions.parse(["--port=x"], ["--port"], errors)
	check_equal([options.explicit, errors.size()], [false, 0], "a claimed name of the server")
	check_equal(AmbuloServerOptions.is_asked_for(["--ports=1", "--agent=1"], []), false)
	check_equal(AmbuloServerOptions.is_asked_for(["--quick", "--mode=play"], []), true)
	check_equal(AmbuloServerOptions.is_asked_for(["--no-server"], []), false)


func test_when_it_listens() -> void:
	var asked := _parsed(["--port=0"])
	var own := _parsed(["--quick"])
	for debug: bool in [false, true]:
		for main_scene: bool in [false, true]:
			for autostart: bool in [false, true]:
				var case := str([debug, main_scene, autostart])
				check_equal(asked.shall_listen(debug, main_scene, autostart), true, case)
				var expected := debug and main_scene and autostart
				check_equal(own.shall_listen(debug, main_scene, autostart), expected, case)
	check_equal(_parsed(["--port=0", "--no-server"]).shall_listen(true, true, true), false)


func test_a_process_is_watched() -> void:
	if OS.get_name() != "Linux":
		check_equal(true, true)
		return
	for by_signal: bool in [false, true]:
		var own := AmbuloParentWatch.new(OS.get_process_id(), by_signal)
		check_equal(own.can_watch(), true)
		check_equal(own.is_gone(10_000), false)
		var pid := OS.create_process("sleep", ["0"])
		var watch := AmbuloParentWatch.new(pid, by_signal)
		var gone := false
		for k in 500:
			gone = not OS.is_process_running(pid) and watch.is_gone(10_000 * (k + 1))
			if gone:
				break
			OS.delay_msec(10)
		check_equal(gone, true, "by signal: %s" % by_signal)


func test_looks_are_a_second_apart() -> void:
	var watch := AmbuloParentWatch.new(1 << 30)  # no such process
	check_equal(watch.is_gone(5000), true)
	check_equal(watch.is_gone(5999), false, "looked again at once")
	check_equal(watch.is_gone(6000), true)


func _parsed(arguments: PackedStringArray) -> AmbuloServerOptions:
	var errors := PackedStringArray()
	var options := AmbuloServerOptions.parse(arguments, [], errors)
	check_equal(errors, PackedStringArray())
	return options
