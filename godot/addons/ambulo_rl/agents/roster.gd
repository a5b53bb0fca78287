class_name AmbuloRoster
extends RefCounted
## The agents of a scene by kind, in the order of the tree.

## Group of our own agents; godot-rl's controllers are in another.
const GROUP := "ambulo_agent"
const CONTROLLERS := "AGENT"

## The kinds, by their first agents' order.
var kinds: Array[AmbuloAgentKind] = []
## All agents, kind after kind.
var agents: Array[AmbuloAgentAdapter] = []
## Those that are controllers of godot-rl.
var controllers: Array[AmbuloControllerAgent] = []
## The rule that an agent breaks, with its path; "": none.
var problem := ""


## The agents in `tree` now.
func _init(tree: SceneTree) -> void:
	var found: Array[AmbuloAgentAdapter] = []
	for node in tree.get_nodes_in_group(GROUP):
		found.append(AmbuloNodeAgent.new(node))
	for node in tree.get_nodes_in_group(CONTROLLERS):
		if AmbuloSyncNode.shall_train(node):
			controllers.append(AmbuloControllerAgent.new(node))
	found.append_array(controllers)
	for agent in found:
		agent.path = str(agent.node.get_path()).trim_prefix("/root/")
		_add(agent)
		if problem != "":
			return
	for kind in kinds:
		agents.append_array(kind.agents)
	if agents.is_empty():
		var scene := tree.current_scene
		problem = (
			"scene %s has no agent: add a node AmbuloAgent3D or AmbuloAgent2D"
			% ("" if scene == null else scene.scene_file_path)
		)


## The first agent that is gone; null: all are there.
func first_gone() -> AmbuloAgentAdapter:
	for agent in agents:
		if not agent.is_alive():
			return agent
	return null


## Whether `other` has as many agents of the same kinds.
func is_like(other: AmbuloRoster) -> bool:
	if other.problem != "" or other.kinds.size() != kinds.size():
		return false
	for k in kinds.size():
		if other.kinds[k].name != kinds[k].name or other.kinds[k].numbers != kinds[k].numbers:
			return false
		if other.kinds[k].agents.size() != kinds[k].agents.size():
			return false
	return true


## Numbers of the actions of all agents.
func action_size() -> int:
	var sum := 0
	for kind in kinds:
		sum += kind.action_size * kind.agents.size()
	return sum


## Whether an agent will begin anew by itself in the next tick.
func is_restarting() -> bool:
	for agent in controllers:
		if agent.is_restarting():
			return true
	return false


func _add(agent: AmbuloAgentAdapter) -> void:
	if agent.problem == "":
		for kind in kinds:
			if kind.name == agent.kind:
				agent.problem = kind.difference(agent)
				kind.agents.append(agent)
				_note(agent)
				return
		var kind := AmbuloAgentKind.new(agent)
		kind.agents.append(agent)
		kinds.append(kind)
	_note(agent)


func _note(agent: AmbuloAgentAdapter) -> void:
	if agent.problem != "":
		problem = "agent %s: %s" % [agent.path, agent.problem]
