@icon("res://addons/ambulo_rl/agents/agent.svg")
class_name AmbuloAgent2D
extends Node2D
## An agent of a game in two dimensions; see [AmbuloAgent3D].

## Agents of one kind share a policy; their observations and actions must be the same.
@export var kind := "agent"
@export var mode := AmbuloAgent3D.Mode.TRAIN
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
