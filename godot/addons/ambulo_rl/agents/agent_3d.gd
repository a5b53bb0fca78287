@icon("res://addons/ambulo_rl/agents/agent.svg")
class_name AmbuloAgent3D
extends Node3D
## An agent of the game, which learns in Python by [code]ambulo/Godot-v0[/code] and plays here.
##
## The methods of an agent (see docs/godot_agents.md) are those of this node's script, which then
## extends this class, or of the parent, where the node has no script of its own:
## [codeblock]
## func get_observation() -> Variant:  # a Dictionary of numbers and lists by name, or one list
## func get_action_space() -> Dictionary:  # {"move": {"size": 2}, "jump": {"discrete": 2}}
## func set_action(action: Dictionary) -> void:  # {"move": PackedFloat32Array, "jump": int}
## func get_reward() -> float:  # of this step; added to that of add_reward
## func is_done() -> bool
## func is_truncated() -> bool
## func reset(episode_seed: int) -> void
## func get_info() -> Dictionary  # {"success": bool, "reward_terms": {name: number}, ...}
## [/codeblock]
## Only the action's two are needed where sensors ([AmbuloSensor]) below this node observe.

## What moves the agent where no program in Python does.
enum Mode {
	TRAIN,  ## Nothing: it waits for a trainer.
	PLAY,  ## The policy in [member policy_path].
	HUMAN,  ## Keyboard and gamepad, by the project's input actions.
	RECORD,  ## As HUMAN, and each episode is written to [member record_folder].
}

## Agents of one kind share a policy; their observations and actions must be the same.
@export var kind := "agent"
@export var mode := Mode.TRAIN
## Steps after which an episode is truncated; 0: never.
@export_range(0, 100000, 1, "or_greater") var max_steps := 0
## Physics ticks of a step; 0: as others, or 8.
@export_range(0, 100, 1, "or_greater") var action_repeat := 0
## The exported network of mode PLAY.
@export_file("*.ambulo") var policy_path := ""
## Folder of what mode RECORD writes.
@export_dir var record_folder := ""

## Reward and end of the running episode.
var score := AmbuloAgentScore.new()


func _notification(what: int) -> void:
	if what == NOTIFICATION_ENTER_TREE:
		add_to_group(AmbuloRoster.GROUP)
	elif what == NOTIFICATION_READY:
		AmbuloHumanPlayer.add_to(self)


## Adds [param amount] to the reward of this step. Reward terms with a name are shown by it.
func add_reward(amount: float, term := "") -> void:
	score.add(amount, term)


## Ends the episode with this step; [param success] is shown as success.
func end_episode(success: Variant = null) -> void:
	score.end(success)
