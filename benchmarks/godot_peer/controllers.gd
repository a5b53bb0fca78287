extends Node
## Agents after godot-rl's controller contract, as `sync.gd` has its players.

## Number of agents.
var count := 0
var _agents: Array[Node] = []


func _init(agents: Array[Node]) -> void:
	_agents = agents
	count = agents.size()


## What an agent observes and does.
func spaces() -> Array[Dictionary]:
	return [_agents[0].call("get_obs_space"), _agents[0].call("get_action_space")]


## Starts a step: one dictionary an agent, as the trainer sends it.
func act(actions: Array) -> void:
	for k in count:
		_agents[k].call("set_action", actions[k])


## Ends a step. Which agents' episodes are over.
func finish() -> Array[bool]:
	var done: Array[bool] = []
	for agent in _agents:
		done.append(agent.call("get_done"))
		if done[-1]:
			agent.call("set_done_false")
	return done


## Rewards of the step that has ended.
func take_rewards() -> Array[float]:
	var rewards: Array[float] = []
	for agent in _agents:
		rewards.append(agent.call("get_reward"))
		agent.call("zero_reward")
	return rewards


## The observation of [param agent].
func observation(agent: int) -> Array:
	return _agents[agent].call("get_obs")["obs"]


## Begins an episode of every agent, in its next tick.
func reset_all() -> void:
	for agent in _agents:
		agent.set("needs_reset", true)
