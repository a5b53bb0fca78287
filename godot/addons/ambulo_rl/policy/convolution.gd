class_name AmbuloConvolution
extends RefCounted
## A convolution without padding, over images in row-major order with interleaved channels.
##
## Each position of the kernel is a layer of [AmbuloMlp] on the pixels below it.

## Number of outputs.
var outputs := 0

var _width := 0
var _channels := 0
var _kernel := 0
var _stride := 0
var _out_height := 0
var _out_width := 0
var _out_channels := 0
var _activation := 0
var _rows: Array[Array] = []
var _bias: PackedVector4Array = []


## The convolution of [param row], see [AmbuloLayerRows], with indices of [param weights].
static func from_row(weights: PackedFloat32Array, row: Dictionary) -> AmbuloConvolution:
	var conv := AmbuloConvolution.new()
	conv._width = row.width
	conv._channels = row.channels
	conv._kernel = row.kernel
	conv._stride = row.stride
	conv._out_height = AmbuloLayerRows.side(row.height, row)
	conv._out_width = AmbuloLayerRows.side(row.width, row)
	conv._out_channels = row.outputs
	conv._activation = AmbuloMlp.CODES[row.activation]
	conv.outputs = conv._out_height * conv._out_width * conv._out_channels
	var patch: int = row.kernel * row.kernel * row.channels
	conv._rows = AmbuloMlp.pack(weights, row.weight, row.outputs, patch)
	conv._bias = AmbuloMlp.fours(weights.slice(row.bias, row.bias + conv._out_channels))
	return conv


## The output for the image [param picture].
func forward(picture: PackedFloat32Array) -> PackedFloat32Array:
	var found := PackedFloat32Array()
	var line := _kernel * _channels
	var y := AmbuloMlp.zeros(_out_channels)
	var padded := 4 * ((_kernel * line + 3) >> 2)
	for row in _out_height:
		for column in _out_width:
			var patch := PackedFloat32Array()
			var at := (row * _stride * _width + column * _stride) * _channels
			for k in _kernel:
				patch.append_array(picture.slice(at, at + line))
				at += _width * _channels
			patch.resize(padded)
			var x := patch.to_byte_array().to_vector4_array()
			AmbuloMlp.layer(_rows, _bias, _activation, x, y)
			found.append_array(y.to_byte_array().to_float32_array().slice(0, _out_channels))
	return found
