extends AmbuloTest
## The compact binary form: the bytes of the header, and messages that are refused.


func test_the_bytes_of_rows() -> void:
	var bytes := AmbuloWire.rows(2, 3, 0x1_0000_0005, PackedFloat64Array([1, 2, 3, 4, 5, -0.5]))
	check_equal(bytes.slice(0, 4).get_string_from_ascii(), "AMB1")
	check_equal(bytes.decode_u32(4), 2)
	check_equal(bytes.decode_u32(8), 3)
	check_equal(bytes.decode_u32(12), 5, "the counter wraps at 2^32")
	check_equal(bytes.size(), 16 + 6 * 8)
	check_equal(bytes.decode_double(16), 1.0)
	check_equal(bytes.decode_double(56), -0.5)
	check_equal(AmbuloWire.rows(0, 35, 0, PackedFloat64Array()).size(), 16)


func test_the_counter_may_have_its_top_bit_set() -> void:
	var bytes := AmbuloWire.rows(1, 1, 0xFFFFFFFF, PackedFloat64Array([0]))
	check_equal(bytes.decode_u32(12), 0xFFFFFFFF)


func test_rows_come_back() -> void:
	var rows := PackedFloat64Array([0.1, 1e300, -3, 5e-324])
	var fields := AmbuloFields.new()
	check_equal(AmbuloWire.read_rows(AmbuloWire.rows(2, 2, 9, rows), 2, fields), rows)
	check_equal(fields.refusal, null)


func test_refusals() -> void:
	var good := AmbuloWire.rows(2, 2, 0, PackedFloat64Array([1, 2, 3, 4]))
	_refused(PackedByteArray(), 2)
	_refused(good.slice(0, 15), 2)
	_refused(good.slice(0, good.size() - 1), 2)
	_refused(good + PackedByteArray([0]), 2)
	_refused(good, 4)
	_refused(good.slice(16), 2)
	var many := good.duplicate()
	many.encode_u32(4, 0xFFFFFFFF)
	_refused(many, 2)
	for wrong: float in [NAN, INF, -INF]:
		_refused(AmbuloWire.rows(1, 2, 0, PackedFloat64Array([1, wrong])), 2)


func test_placements() -> void:
	var world := AmbuloWorld.new()
	world.configure(2, AmbuloSpec.new())
	world.set_levels([7], [AmbuloLevel.from_dict({"name": "a", "bounds": [0, 0, 9, 9]}, [])])
	var fields := AmbuloFields.new()
	var rows := PackedFloat64Array([1, 7, 0.5, 0.25, 3])
	var chosen := AmbuloRlPlacement.from_binary(
		AmbuloWire.rows(1, 5, 0, rows), 3, 1e6, world, fields
	)
	check_equal(fields.refusal, null)
	check_equal(chosen.agents, PackedInt64Array([1]))
	check_equal(chosen.slots, PackedInt64Array([7]))
	check_equal(chosen.rows, PackedFloat64Array([0.5, 0.25, 3]))
	for wrong: Array in [
		[2, 7, 0, 0, 0],
		[-1, 7, 0, 0, 0],
		[0.5, 7, 0, 0, 0],
		[0, 6, 0, 0, 0],
		[0, 7, 1e7, 0, 0],
		[0, 7, 0, 0, 0, 0, 7, 0, 0, 0],
	]:
		fields = AmbuloFields.new()
		var message := AmbuloWire.rows(floori(wrong.size() / 5.0), 5, 0, PackedFloat64Array(wrong))
		AmbuloRlPlacement.from_binary(message, 3, 1e6, world, fields)
		check_equal(fields.refusal != null, true, str(wrong))


func _refused(bytes: PackedByteArray, width: int) -> void:
	var fields := AmbuloFields.new()
	check_equal(AmbuloWire.read_rows(bytes, width, fields), PackedFloat64Array())
	check_equal(fields.refusal != null, true, str(bytes))
