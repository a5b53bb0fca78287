extends Node2D
## Wrestlers in rings: who is pushed out has lost (sample of docs/godot_tasks.md). The two of a ring
## are of one kind in two teams, "wrestler@red" and "wrestler@blue".

const RINGS := 12
const RADIUS := 100.0
const BODY := 16.0


func _ready() -> void:
	for k in RINGS:
		var ring := Node2D.new()
		ring.position.x = 300.0 * k
		add_child(ring)
		for team: String in ["red", "blue"]:
			var wrestler := Node2D.new()
			wrestler.name = team
			wrestler.set_script(preload("ring_wrestler.gd"))
			var agent := AmbuloAgent2D.new()
			agent.kind = "wrestler@" + team
			agent.max_steps = 150
			agent.action_repeat = 6
			wrestler.add_child(agent)
			ring.add_child(wrestler)


func _draw() -> void:
	for k in RINGS:
		draw_arc(Vector2(300.0 * k, 0.0), RADIUS, 0.0, TAU, 60, Color.WHITE, 3.0)
