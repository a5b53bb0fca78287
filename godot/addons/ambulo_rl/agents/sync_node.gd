class_name AmbuloSyncNode
extends RefCounted
## Sets the `Sync` node of a godot-rl game aside, so that nothing but our server drives its agents.

const SCRIPT := "godot_rl_agents/sync.gd"
## Ticks per second that the node sets, whatever the project says.
const TICKS_PER_SECOND := 60
const _STAND_IN := """extends "%s"
func _ready() -> void: pass
func _process(_delta: float) -> void: pass
func _physics_process(_delta: float) -> void: pass
func _notification(_what: int) -> void: pass
"""

## Ticks of a step and ticks of a frame, as the last such node says; 0: there was none.
static var action_repeat := 0
static var speed_up := 0.0


## Look at each node that enters `tree` from now on.
static func watch(tree: SceneTree) -> void:
	if not tree.node_added.is_connected(_look):
		tree.node_added.connect(_look)


## Whether `controller` is to be trained; its mode is what the node would have made it.
static func shall_train(controller: Node) -> bool:
	if not "control_mode" in controller:
		return true
	var modes: Dictionary = _constants(controller.get_script()).get("ControlModes", {})
	var train: int = modes.get("TRAINING", 2)
	if controller.get("control_mode") == modes.get("INHERIT_FROM_SYNC", 0):
		controller.set("control_mode", train)
	return controller.get("control_mode") == train


static func _look(node: Node) -> void:
	var script: Script = node.get_script()
	while script != null and not script.resource_path.ends_with(SCRIPT):
		script = script.get_base_script()
	if script == null:
		return
	action_repeat = node.get("action_repeat")
	speed_up = node.get("speed_up")
	# Of the same class, as other nodes may name it, with the same values.
	var stand_in := GDScript.new()
	stand_in.source_code = _STAND_IN % (node.get_script() as Script).resource_path
	if stand_in.reload() != OK:
		node.set_script(null)
		return
	var values := {}
	for property in node.get_property_list():
		if property["usage"] & PROPERTY_USAGE_SCRIPT_VARIABLE:
			values[property["name"]] = node.get(property["name"])
	node.set_script(stand_in)
	for name: String in values:
		node.set(name, values[name])


static func _constants(script: Script) -> Dictionary:
	var result := {}
	while script != null:
		result.merge(script.get_script_constant_map())
		script = script.get_base_script()
	return result
