extends AmbuloTest
## The vignette narrows in motion, widens at rest, and leaves jumps alone.

const SCENE := "res://addons/ambulo_rl/view/vignette.tscn"
const FRAME := 1.0 / 90.0


func test_it_narrows_smoothly_and_widens_again() -> void:
	var ring := _made()
	var last := 0.0
	for _k in 90:
		ring.drive(2.0, 0.0, FRAME)
		check(ring.narrowing >= last and ring.narrowing - last < 0.05, "smooth")
		last = ring.narrowing
	check_near(ring.narrowing, 0.6, 1e-3, "at full speed")
	check_near(ring.opening(), deg_to_rad(50.0) * 0.4, 1e-3, "opening")
	for _k in 180:
		ring.drive(0.0, 0.0, FRAME)
	check_near(ring.narrowing, 0.0, 5e-3, "at rest")
	ring.free()


func test_slow_motion_and_turns_narrow_in_proportion() -> void:
	var ring := _made()
	for _k in 180:
		ring.drive(0.7, 0.0, FRAME)
	check_near(ring.narrowing, 0.3, 1e-3, "half speed")
	for _k in 180:
		ring.drive(0.0, -PI / 4.0, FRAME)
	check_near(ring.narrowing, 0.6, 1e-3, "turning")
	ring.free()


func test_jumps_narrow_nothing() -> void:
	var ring := _made()
	ring.drive(3.0 / FRAME, 0.0, FRAME)
	ring.drive(0.0, 0.5 / FRAME, FRAME)
	check_near(ring.narrowing, 0.0, 1e-9)
	check_near(ring.opening(), PI, 1e-9)
	ring.free()


func test_it_watches_the_origin_above_its_camera() -> void:
	var origin := XROrigin3D.new()
	var camera := XRCamera3D.new()
	var ring: AmbuloVignette = (load(SCENE) as PackedScene).instantiate()
	tree.root.add_child(origin)
	origin.add_child(camera)
	camera.add_child(ring)
	check_equal(ring.tracked, origin)
	ring.set_process(false)
	ring._process(FRAME)
	for _k in 30:
		origin.position.x += 1.4 * FRAME
		camera.rotation.y += 0.1  # the head's own turn
		ring._process(FRAME)
	check_near(ring.narrowing, 0.5 * (1.0 - exp(-30.0 * FRAME / 0.15)), 5e-3)
	var before := ring.narrowing
	origin.position.x += 3.0
	ring._process(FRAME)
	check(ring.narrowing < before, "a teleport is no motion")
	origin.free()


func _made() -> AmbuloVignette:
	var ring: AmbuloVignette = (load(SCENE) as PackedScene).instantiate()
	ring.amount = 0.6
	tree.root.add_child(ring)
	return ring
