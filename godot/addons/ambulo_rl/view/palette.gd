class_name AmbuloPalette
extends RefCounted
## Colours and materials: plain, matt, easy to distinguish.

const FLOOR := Color("b4b9b3")
const FLOOR_LINE := Color("939a94")
const SIDE := Color("6d756f")
const DEPTHS := Color("262b33")
const WALL := Color("8ba0b5")
const BLOCK := Color("d29c6b")
const DRUM := Color("7fa58a")
const PAINT := Color("dcd9a6")
const OVERHEAD := Color("b7a7c4")
const GOAL := Color("36b37e")
const BODY := Color("2f6690")
const VISOR := Color("20262c")
const HAND := Color("e8e4d8")
const NEAR_RAY := Color("e4572e")
const FAR_RAY := Color("57a0d3")
const TRAIL := Color("f2c230")


## A matt material, emissive if [param glow] > 0.
static func matt(color: Color, glow := 0.0) -> StandardMaterial3D:
	var material := StandardMaterial3D.new()
	material.albedo_color = color
	material.roughness = 0.9
	if color.a < 1.0:
		material.transparency = BaseMaterial3D.TRANSPARENCY_ALPHA
		material.cull_mode = BaseMaterial3D.CULL_DISABLED
	if glow > 0.0:
		material.emission_enabled = true
		material.emission = color
		material.emission_energy_multiplier = glow
	return material


## A matt material that takes its colour from each vertex or instance.
static func vertex_coloured() -> StandardMaterial3D:
	var material := matt(Color.WHITE)
	material.vertex_color_use_as_albedo = true
	return material


## Floor material with a line every metre, which makes motion visible; UV is in metres.
static func floor_grid() -> StandardMaterial3D:
	const SIZE := 64
	var image := Image.create_empty(SIZE, SIZE, true, Image.FORMAT_RGB8)
	image.fill(FLOOR)
	for k in SIZE:
		image.set_pixel(k, 0, FLOOR_LINE)
		image.set_pixel(0, k, FLOOR_LINE)
	image.generate_mipmaps()
	var material := matt(Color.WHITE)
	material.albedo_texture = ImageTexture.create_from_image(image)
	material.texture_filter = BaseMaterial3D.TEXTURE_FILTER_LINEAR_WITH_MIPMAPS_ANISOTROPIC
	return material
