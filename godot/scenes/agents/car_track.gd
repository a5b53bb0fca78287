class_name CarTrack
extends Node2D
## A closed track around the origin, and the cars on it, which do not touch each other.

const HALF_WIDTH := 42.0
const CARS := 16
const PIECES := 120


func _ready() -> void:
	for side: float in [-HALF_WIDTH, HALF_WIDTH]:
		var body := StaticBody2D.new()
		for k in PIECES:
			var shape := CollisionShape2D.new()
			var piece := SegmentShape2D.new()
			piece.a = _at(TAU * k / PIECES, side)
			piece.b = _at(TAU * (k + 1) / PIECES, side)
			shape.shape = piece
			body.add_child(shape)
		add_child(body)
	for k in CARS:
		var car := Node2D.new()
		car.name = "Car%d" % k
		car.set_script(preload("car.gd"))
		var agent := AmbuloAgent2D.new()
		agent.kind = "car"
		agent.max_steps = 300
		agent.action_repeat = 6
		car.add_child(agent)
		add_child(car)


## Distance of the middle of the track from the origin in the direction [param angle].
static func radius(angle: float) -> float:
	return 280.0 + 60.0 * sin(3.0 * angle) + 30.0 * cos(2.0 * angle)


## The middle of the track in the direction [param angle].
func centre(angle: float) -> Vector2:
	return _at(angle, 0.0)


## The direction of the track there.
func heading(angle: float) -> float:
	return (centre(angle + 0.01) - centre(angle - 0.01)).angle()


func _at(angle: float, aside: float) -> Vector2:
	return Vector2.from_angle(angle) * (radius(angle) + aside)


func _draw() -> void:
	for side: float in [-HALF_WIDTH, HALF_WIDTH]:
		var line := PackedVector2Array()
		for k in PIECES + 1:
			line.append(_at(TAU * k / PIECES, side))
		draw_polyline(line, Color.WHITE, 3.0)
