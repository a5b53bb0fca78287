class_name AmbuloWire
extends RefCounted
## The compact form of `/rl/step`: little-endian float64 actions in, a 16-byte header and
## little-endian float64 state rows out.

const MEDIA_TYPE := "application/x-ambulo"
## "AMB1" as little-endian uint32.
const MAGIC := 0x31424D41
const HEADER_SIZE := 16


## The numbers in `body`. Its size must be a multiple of 8.
static func numbers(body: PackedByteArray) -> PackedFloat64Array:
	return body.to_float64_array()


## Header and rows: magic, agents, width, decision counter modulo 2^32, then the numbers.
static func rows(
	agents: int, width: int, decision: int, numbers_out: PackedFloat64Array
) -> PackedByteArray:
	var bytes := PackedInt32Array([MAGIC, agents, width, decision & 0xFFFFFFFF]).to_byte_array()
	bytes.append_array(numbers_out.to_byte_array())
	return bytes


## The rows of a message that has the same header (its counter is not looked at), `width` numbers
## each, one after the other; all of them finite. Empty after a refusal in `fields`.
static func read_rows(
	body: PackedByteArray, width: int, fields: AmbuloFields
) -> PackedFloat64Array:
	var empty := PackedFloat64Array()
	if body.size() < HEADER_SIZE or body.decode_u32(0) != MAGIC:
		fields.fail("body", "expected a message that begins with AMB1")
		return empty
	if body.decode_u32(8) != width:
		fields.fail("body", "expected rows of %d numbers, got %d" % [width, body.decode_u32(8)])
		return empty
	var size := HEADER_SIZE + body.decode_u32(4) * width * 8
	if body.size() != size:
		fields.fail("body", "expected %d bytes, got %d" % [size, body.size()])
		return empty
	var values := body.slice(HEADER_SIZE).to_float64_array()
	for k in values.size():
		if not is_finite(values[k]):
			fields.fail(
				"body", "row %d holds a number that is not finite" % floori(k / float(width))
			)
			return empty
	return values
