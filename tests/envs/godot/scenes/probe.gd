extends SceneTree
## Heights of a scene's floors at places, as the physics engine has them: reads x, z pairs from
## the JSON file PROBE_IN and writes [[height, upward part of the normal], ...] of each, or null.


func _initialize() -> void:
	_run.call_deferred()


func _run() -> void:
	var places: Array = JSON.parse_string(FileAccess.get_file_as_string(_named("PROBE_IN")))
	var scene: Node = (load(_named("PROBE_SCENE")) as PackedScene).instantiate()
	root.add_child(scene)
	for k in 10:
		await physics_frame
	var state := root.world_3d.direct_space_state
	var found: Array = []
	for place: Array in places:
		var top := Vector3(place[0], 50.0, place[1])
		var ray := PhysicsRayQueryParameters3D.create(top, top + Vector3.DOWN * 100.0, 1)
		for node: Node in scene.find_children("*", "PhysicsBody3D", true, false):
			if node is RigidBody3D or node is CharacterBody3D or node is AnimatableBody3D:
				ray.exclude += [(node as PhysicsBody3D).get_rid()]
		var hit := state.intersect_ray(ray)
		if hit:
			found.append([hit["position"].y, absf(hit["normal"].y)])
		else:
			found.append(null)
	FileAccess.open(_named("PROBE_OUT"), FileAccess.WRITE).store_string(JSON.stringify(found))
	quit()


func _named(variable: String) -> String:
	return OS.get_environment(variable)
