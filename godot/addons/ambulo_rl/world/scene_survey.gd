class_name AmbuloSceneSurvey
extends RefCounted
## Survey of a scene: its colliders, the box around them, and the marker nodes of starts and goals.
##
## A marker is a Node3D in one of the groups of [constant KINDS], or one whose name begins with
## "AmbuloStart", "AmbuloGoal" or "AmbuloWaypoint". It stands at most [constant MARKER_HEIGHT] above
## its floor.

## Groups of markers, and their name prefixes.
const KINDS: Dictionary[String, String] = {
	"ambulo_start": "AmbuloStart",
	"ambulo_goal": "AmbuloGoal",
	"ambulo_waypoint": "AmbuloWaypoint",
}
## Largest height of a marker above its floor, [m].
const MARKER_HEIGHT := 3.0
## Name prefix of a picture or CSG shape that is the box in which agents play, like one in the group
## "ambulo_bounds".
const BOUNDS := "AmbuloBounds"
## Most colliders of a scene.
const MOST_COLLIDERS := 100_000
## Most reported points of navigation meshes.
const MOST_ANCHORS := 4096
## Largest cosine between axes that count as perpendicular.
const _SHEAR := 1e-3

## The first broken rule, after the path of its node; "": none.
var problem := ""
## Markers of each group, in the order of the tree.
var markers: Dictionary[String, Array] = {}
## Points of the navigation meshes' polygons, in the engine's axes.
var anchors: PackedVector3Array = []
## Number of colliders.
var colliders := 0
## Whether anything in the scene moves by itself.
var moves := false
## Moving bodies, which searches for walks and free places ignore, so that a door that is shut at
## first blocks no walk.
var moving_bodies: Array[RID] = []
## Whether a node with the name [constant BOUNDS] limits where agents play.
var has_bounds := false
## The box around all colliders of finite size, in the engine's axes.
var box := AABB()

var _root: Node
var _empty := true
var _measures := false


## Surveys all nodes below [param root], which must be in the tree if the survey [param measures]
## the box.
func _init(root: Node, measures := true) -> void:
	_root = root
	_measures = measures
	for group in KINDS:
		markers[group] = []
	_look(root, Transform3D.IDENTITY)


## Whether the scene still exists.
func is_alive() -> bool:
	return is_instance_valid(_root)


## The path of [param node] below the scene, its root first.
func path_of(node: Node) -> String:
	return ("%s/%s" % [_root.name, _root.get_path_to(node)]).trim_suffix("/.")


## Path of the first node with the script [param script_path], or "".
func node_with(script_path: String) -> String:
	return _find_script(_root, script_path)


func _look(node: Node, parent: Transform3D) -> void:
	var pose := parent
	if node is Node3D:
		var at: Node3D = node
		if not at.transform.is_finite():
			_refuse(node, "its transform is not finite")
			return
		pose = at.transform if at.top_level else parent * at.transform
		_note_marker(at)
		if (
			at is VisualInstance3D
			and (at.is_in_group("ambulo_bounds") or at.name.begins_with(BOUNDS))
		):
			has_bounds = true
			box = pose * (at as VisualInstance3D).get_aabb()
	if is_moving_body(node):
		moves = true
		moving_bodies.append((node as PhysicsBody3D).get_rid())
	elif not moves:
		moves = _moves(node)
	if node is CollisionObject3D and node is not Area3D:
		_note_owners(node as CollisionObject3D, pose)
	elif node is CollisionShape3D:
		_note_shape(node as CollisionShape3D, pose)
	elif node is CollisionPolygon3D:
		_note_polygon(node as CollisionPolygon3D, pose)
	elif node is CSGShape3D:
		var shape: CSGShape3D = node
		if shape.use_collision and shape.get_parent() is not CSGShape3D:
			_note_box(node, pose, shape.get_aabb())
	elif node is GridMap:
		_note_grid(node as GridMap, pose)
	elif node is NavigationRegion3D:
		_note_navigation(node as NavigationRegion3D, pose)
	for child in node.get_children():
		_look(child, pose)
		if problem != "":
			return


func _note_marker(node: Node3D) -> void:
	for group in KINDS:
		if node.is_in_group(group) or node.name.begins_with(KINDS[group]):
			markers[group].append(node)
			return


func _note_shape(node: CollisionShape3D, pose: Transform3D) -> void:
	if node.disabled or node.shape == null or node.get_parent() is Area3D:
		return
	if node.shape is WorldBoundaryShape3D or node.shape is SeparationRayShape3D:
		colliders += 1
		return
	_note_box(node, pose, box_of(node.shape, _measures))


# Shapes that scripts added to a body without nodes of their own.
func _note_owners(body: CollisionObject3D, pose: Transform3D) -> void:
	for owner_id in body.get_shape_owners():
		var holder := body.shape_owner_get_owner(owner_id)
		if holder is CollisionShape3D or holder is CollisionPolygon3D:
			continue
		var at := pose * body.shape_owner_get_transform(owner_id)
		for k in body.shape_owner_get_shape_count(owner_id):
			if problem != "":
				return
			var shape := body.shape_owner_get_shape(owner_id, k)
			if shape is WorldBoundaryShape3D or shape is SeparationRayShape3D:
				colliders += 1
			else:
				_note_box(body, at, box_of(shape, _measures))


## The box around a shape, in its own axes; without [param measures] only of boxes.
static func box_of(shape: Shape3D, measures := true) -> AABB:
	if shape is BoxShape3D:
		var whole := (shape as BoxShape3D).size
		return AABB(-0.5 * whole, whole)
	return shape.get_debug_mesh().get_aabb() if measures else AABB()


func _note_polygon(node: CollisionPolygon3D, pose: Transform3D) -> void:
	if node.disabled or node.get_parent() is Area3D:
		return
	var flat := AABB()
	for point in node.polygon:
		flat = flat.expand(Vector3(point.x, point.y, 0.0))
	_note_box(node, pose, flat.grow(0.5 * node.depth))


func _note_grid(map: GridMap, pose: Transform3D) -> void:
	if map.collision_layer == 0:
		return
	for cell in map.get_used_cells():
		var half := 0.5 * map.cell_size
		var at := map.map_to_local(cell)
		_note_box(map, pose, AABB(at - half, 2.0 * half))


func _note_box(node: Node, pose: Transform3D, local: AABB) -> void:
	colliders += 1
	if colliders > MOST_COLLIDERS:
		_refuse(node, "the scene has more than %d colliders" % MOST_COLLIDERS)
		return
	var basis := pose.basis
	if absf(basis.determinant()) < 1e-9:
		_refuse(_blamed(node), "its scale is zero")
	elif _is_sheared(basis):
		_refuse(node, "it is sheared (an uneven scale above a rotation): colliders cannot be")
	if not has_bounds:
		var around := pose * local
		box = around if _empty else box.merge(around)
		_empty = false


func _note_navigation(region: NavigationRegion3D, pose: Transform3D) -> void:
	var mesh := region.navigation_mesh
	if mesh == null or not region.enabled:
		return
	var points := mesh.get_vertices()
	for k in mini(mesh.get_polygon_count(), MOST_ANCHORS - anchors.size()):
		var middle := Vector3.ZERO
		var corners := mesh.get_polygon(k)
		for corner in corners:
			middle += points[corner] / corners.size()
		anchors.append(pose * middle)


func _refuse(node: Node, rule: String) -> void:
	if problem == "":
		problem = "node %s: %s" % [path_of(node), rule]


# The node at or above `node` whose own scale is zero.
func _blamed(node: Node) -> Node:
	var at := node
	while at != _root.get_parent() and at is Node3D:
		if absf((at as Node3D).basis.determinant()) < 1e-9:
			return at
		at = at.get_parent()
	return node


static func _is_sheared(basis: Basis) -> bool:
	var x := basis.x.normalized()
	var y := basis.y.normalized()
	var z := basis.z.normalized()
	return maxf(absf(x.dot(y)), maxf(absf(y.dot(z)), absf(z.dot(x)))) > _SHEAR


## Whether a body's type moves; a frozen vehicle counts, too.
static func is_moving_body(node: Node) -> bool:
	if node is RigidBody3D:
		return node is VehicleBody3D or not (node as RigidBody3D).freeze
	return node is AnimatableBody3D or node is CharacterBody3D


static func _moves(node: Node) -> bool:
	if node is AnimationPlayer:
		return (node as AnimationPlayer).autoplay != ""
	var script: Script = node.get_script()
	return script != null and (node.has_method("_physics_process") or node.has_method("_process"))


func _find_script(node: Node, script_path: String) -> String:
	var script: Script = node.get_script()
	if script != null and script.resource_path == script_path:
		return path_of(node)
	for child in node.get_children():
		var found := _find_script(child, script_path)
		if found != "":
			return found
	return ""
