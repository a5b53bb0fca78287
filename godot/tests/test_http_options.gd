extends AmbuloTest
## User arguments of the server, and the watch over the process that started it.


func test_defaults() -> void:
	var options := _parsed([])
	check_equal([options.port, options.agents, options.token], [8080, 1, ""])
	check_equal(options.mode, AmbuloServerOptions.Mode.LOCKSTEP, "headless")
	check_equal(options.explicit, false)


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
			"--no-server",
		]
	)
	check_equal([options.port, options.agents, options.token], [0, 16, "a=b"])
	check_equal([options.mode, options.max_body], [AmbuloServerOptions.Mode.PLAY, 5000])
	check_equal([options.host, options.parent_pid, options.idle_exit], ["box.local", 5, 60])
	check_equal([options.explicit, options.enabled], [true, false])


func test_refusals_name_the_argument() -> void:
	for argument: String in [
		"--port=8O80", "--agents=0", "--mode=x", "--token=", "--x=1", "--", ""
	]:
		var errors := PackedStringArray()
		check_equal(AmbuloServerOptions.parse([argument], [], errors), null, argument)
		check_equal(errors.size(), 1)
		check_equal(errors[0].begins_with(argument + ": "), true, errors[0])


func test_arguments_of_others() -> void:
	var errors := PackedStringArray()
	var options := AmbuloServerOptions.parse(
		["--policy=x", "--quick"], ["--policy", "--quick"], errors
	)
	check_equal(errors.size(), 0)
	check_equal(options.explicit, false)
	check_equal(AmbuloServerOptions.any_known(["--policy=x", "--ports=1"]), false)
	check_equal(AmbuloServerOptions.any_known(["--policy=x", "--port=1"]), true)
	check_equal(AmbuloServerOptions.any_known(["--no-server"]), true)


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
