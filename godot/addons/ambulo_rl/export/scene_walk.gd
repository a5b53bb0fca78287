extends RefCounted
## Walks a scene in the tree and collects its collision geometry as raw data, which `ambulo levels
## import` turns into a level file.

const ShapeTable := preload("shape_table.gd")

## Most shapes of a scene.
const MOST_SHAPES := 100_000
## Groups of marker nodes, and the name prefixes of markers without a group.
const MARKERS: Dictionary[String, String] = {
	"ambulo_start": "AmbuloStart",
	"ambulo_goal": "AmbuloGoal",
	"ambulo_waypoint": "AmbuloWaypoint",
}
## Group and name prefix of the shape or picture around the area in which agents play.
const BOUNDS_GROUP := "ambulo_bounds"
const BOUNDS_NAME := "AmbuloBounds"
## Most bodies in front of a plane that a query skips.
const MOST_IN_FRONT := 100
const _MOVED: Dictionary[String, String] = {
	"RigidBody3D": "a body that physics moves",
	"CharacterBody3D": "a body that scripts move",
	"AnimatableBody3D": "moves: left out, so that ways through doors exist",
	"Area3D": "an area, which obstructs nobody",
	"SoftBody3D": "a soft body",
	"PhysicalBone3D": "a bone that physics moves",
}

## The first broken rule with the path of its node; empty: none.
var problem: Dictionary[String, String] = {}

var _root: Node
var _shapes := ShapeTable.new()
var _items: Array[Dictionary] = []
var _markers: Array[Dictionary] = []
var _not_carried: Array[Dictionary] = []
var _without: Array[Dictionary] = []
var _pictures := 0


## Raw geometry of everything below [param root], as data for JSON.
func collect(root: Node) -> Dictionary:
	_root = root
	var left: Array[Node] = [root]  # no recursion: trees may be deeper than the stack
	while not left.is_empty() and problem.is_empty():
		var node: Node = left.pop_back()
		_look(node)
		var children := node.get_children()
		children.reverse()
		left.append_array(children)
	return {
		"format": "ambulo_scene",
		"version": 1,
		"scene": root.scene_file_path,
		"engine": Engine.get_version_info()["string"],
		"problem": problem,
		"shapes": _shapes.rows,
		"items": _items,
		"markers": _markers,
		"not_carried": _not_carried,
		"without_collision": _without,
		"notes": [],
		"pictures": _pictures,
	}


## The path of [param node] below the scene, its root first.
static func path_below(root: Node, node: Node) -> String:
	return ("%s/%s" % [root.name, root.get_path_to(node)]).trim_suffix("/.")


func _look(node: Node) -> void:
	if node is not Node3D:
		return
	var at: Node3D = node
	_note_marker(at)
	if at is CollisionObject3D:
		_take_body(at as CollisionObject3D)
	elif at is CSGShape3D:
		_take_csg(at as CSGShape3D)
	elif at is GridMap:
		_take_grid(at as GridMap)
	elif at is SoftBody3D:
		_list(_not_carried, at, _MOVED["SoftBody3D"])
	elif at is CollisionShape3D or at is CollisionPolygon3D:
		if at.get_parent() is not CollisionObject3D:
			_list(_without, at, "a shape whose parent is no body")
	elif at is MeshInstance3D:
		_pictures += 1


func _take_body(body: CollisionObject3D) -> void:
	for kind in _MOVED:
		if body.is_class(kind):
			_list(_not_carried, body, _MOVED[kind])
			return
	if body.disable_mode == CollisionObject3D.DISABLE_MODE_REMOVE and _is_disabled(body):
		_list(_without, body, "its processing is disabled")
		return
	for owner_id in body.get_shape_owners():
		var holder := body.shape_owner_get_owner(owner_id) as Node3D
		var node: Node3D = holder if holder != null else body
		if body.is_shape_owner_disabled(owner_id):
			_list(_without, node, "disabled")
			continue
		var pose := body.global_transform * body.shape_owner_get_transform(owner_id)
		if body.shape_owner_get_shape_count(owner_id) == 0:
			_list(_without, node, "has no shape")
		for k in body.shape_owner_get_shape_count(owner_id):
			var shape := body.shape_owner_get_shape(owner_id, k)
			_take(node, shape, pose, body.collision_layer)
			if shape is WorldBoundaryShape3D and pose.is_finite():
				_shapes.set_distance(shape, _distance(body, shape as WorldBoundaryShape3D, pose))


# Whether the game does not process a node (the editor processes none).
func _is_disabled(node: Node) -> bool:
	while node != null and node.process_mode == Node.PROCESS_MODE_INHERIT and node != _root:
		node = node.get_parent()
	return node != null and node.process_mode == Node.PROCESS_MODE_DISABLED


# Distance of a plane in the physics engine, along its normal: Jolt negates Plane.d.
func _distance(body: CollisionObject3D, shape: WorldBoundaryShape3D, pose: Transform3D) -> float:
	var normal := shape.plane.normal
	var reach := normal * (2.0 * absf(shape.plane.d) + 1.0)
	var ray := PhysicsRayQueryParameters3D.create(pose * reach, pose * -reach, 0xFFFFFFFF)
	for k in MOST_IN_FRONT if shape.plane.d != 0.0 else 0:
		var hit := body.get_world_3d().direct_space_state.intersect_ray(ray)
		if hit.is_empty():
			break
		if hit["rid"] == body.get_rid():
			var place: Vector3 = hit["position"]
			return (pose.affine_inverse() * place).dot(normal)
		ray.exclude += [hit["rid"]]
	return shape.plane.d


func _take_csg(node: CSGShape3D) -> void:
	if not node.is_root_shape():
		return
	if not node.use_collision:
		_list(_without, node, "use_collision is off")
		return
	var shape := node.bake_collision_shape()
	if shape == null or shape.get_faces().is_empty():
		_list(_without, node, "has no triangles")
		return
	_take(node, shape, node.global_transform, node.collision_layer)


func _take_grid(map: GridMap) -> void:
	var library := map.mesh_library
	if library == null:
		_list(_without, map, "has no mesh library")
		return
	var scale := Basis.from_scale(Vector3.ONE * map.cell_scale)
	var shapes: Dictionary[int, Array] = {}
	for item in library.get_item_list():
		shapes[item] = library.get_item_shapes(item)
	var bare: Dictionary[int, bool] = {}
	for cell in map.get_used_cells():
		var item := map.get_cell_item(cell)
		var parts: Array = shapes.get(item, [])
		if parts.is_empty():
			bare[item] = true
		var turn := map.get_basis_with_orthogonal_index(map.get_cell_item_orientation(cell))
		var place := Transform3D(turn * scale, map.map_to_local(cell))
		for k in range(0, parts.size() - 1, 2):
			var shape: Shape3D = parts[k]
			var local: Transform3D = parts[k + 1]
			if shape != null:
				_take(map, shape, map.global_transform * place * local, map.collision_layer)
			if not problem.is_empty():
				return
	for item in bare:
		var title := library.get_item_name(item) if shapes.has(item) else ""
		_list(_without, map, 'its item %d "%s" has no collision shape' % [item, title])


func _take(node: Node3D, shape: Shape3D, pose: Transform3D, layer: int) -> void:
	if node.get_world_3d() != _root.get_viewport().find_world_3d():
		_list(_without, node, "in a world of its own")
		return
	if not pose.is_finite():
		_refuse(node, "its transform is not finite")
		return
	var index := _shapes.add(shape)
	if index < 0:
		_list(_not_carried, node, "a %s" % shape.get_class())
		return
	_items.append(
		{"path": _path(node), "shape": index, "transform": _numbers(pose), "layer": layer}
	)
	if _items.size() > MOST_SHAPES:
		_refuse(node, "the scene has more than %d shapes" % MOST_SHAPES)
	elif _shapes.triangles > ShapeTable.MOST_TRIANGLES:
		_refuse(node, "the scene has more than %d triangles" % ShapeTable.MOST_TRIANGLES)


func _note_marker(node: Node3D) -> void:
	for group in MARKERS:
		if node.is_in_group(group) or node.name.begins_with(MARKERS[group]):
			_mark(node, group.trim_prefix("ambulo_"), AABB())
			return
	if node is VisualInstance3D:
		if node.is_in_group(BOUNDS_GROUP) or node.name.begins_with(BOUNDS_NAME):
			_mark(node, "bounds", (node as VisualInstance3D).get_aabb())


func _mark(node: Node3D, kind: String, box: AABB) -> void:
	var pose := node.global_transform
	if not pose.is_finite():
		_refuse(node, "its transform is not finite")
		return
	var row := {"path": _path(node), "kind": kind, "transform": _numbers(pose)}
	if kind == "bounds":
		var low := box.position
		var high := box.end
		row["box"] = [low.x, low.y, low.z, high.x, high.y, high.z]
	_markers.append(row)


func _list(rows: Array[Dictionary], node: Node, reason: String) -> void:
	rows.append({"path": _path(node), "class": node.get_class(), "reason": reason})


func _refuse(node: Node, rule: String) -> void:
	if problem.is_empty():
		problem = {"path": _path(node), "rule": rule}


func _path(node: Node) -> String:
	return path_below(_root, node)


# The axes x, y, z of the basis, then the origin.
static func _numbers(pose: Transform3D) -> PackedFloat64Array:
	var x := pose.basis.x
	var y := pose.basis.y
	var z := pose.basis.z
	var at := pose.origin
	return [x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z, at.x, at.y, at.z]
