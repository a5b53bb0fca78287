extends AmbuloTest
## Settings: defaults, refusals with key and rule, round trip.


func test_defaults() -> void:
	var spec := _parsed({})
	check_equal(spec.ticks_per_decision, 9)
	check_near(spec.decision_dt(), 0.1)
	check_near(pow(spec.tick_decay(), 9), 0.3, 1e-12, "decay over a decision")
	check_equal(spec.to_dict().keys().size(), AmbuloSpec.KEYS.size())


func test_round_trip() -> void:
	var data := AmbuloSpec.new().to_dict()
	data["num_rays"] = 8
	data["max_speed"] = 1.25
	data["rays_see_edges"] = false
	check_equal(_parsed(data).to_dict(), data)


func test_json_numbers_are_floats() -> void:
	check_equal(_parsed({"ticks_per_decision": 4.0}).ticks_per_decision, 4)


func test_refusals() -> void:
	_refused({"tick": 9}, "tick: unknown key")
	_refused({"ticks_per_decisions": 9}, "did you mean 'ticks_per_decision'")
	_refused({"ticks_per_decision": 1.5}, "ticks_per_decision: expected a whole number")
	_refused({"ticks_per_decision": 0}, "ticks_per_decision: must be in")
	_refused({"dt": NAN}, "dt: must be finite")
	_refused({"smoothing": 1.0}, "smoothing: must be in")
	_refused({"dead_zone": "0.1"}, "dead_zone: expected a number")
	_refused({"discrete": 1}, "discrete: expected true or false")
	_refused({"num_rays": true}, "num_rays: expected a number")
	_refused([], "spec: expected an object")


func test_walls_must_stop_a_tick() -> void:
	_refused({"max_speed": 23.0}, "max_speed: moves 0.256 m per physics tick")
	_refused({"discrete": true, "move_distance": 3.0}, "move_distance: moves")
	check_near(_parsed({"discrete": true, "max_speed": 23.0}).max_speed, 23.0)


func _parsed(data: Variant) -> AmbuloSpec:
	var errors: PackedStringArray = []
	var spec := AmbuloSpec.from_dict(data, errors)
	check_equal(errors, PackedStringArray(), "errors")
	return spec


func _refused(data: Variant, part: String) -> void:
	var errors: PackedStringArray = []
	check(AmbuloSpec.from_dict(data, errors) == null, "is refused")
	check_contains(", ".join(errors), part)
