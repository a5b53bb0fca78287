extends Node
## The game's side of godot-rl's protocol, version 0.7: messages are a 4-byte little-endian
## length and JSON text; Python listens, the game connects.
##
## Every `action_repeat` physics ticks, before the players move: send what came of the last
## action, then wait inside the tick for the next message. Written for this comparison, and
## no slower than the protocol demands: one write a message, no delay, and the tree is not
## paused and unpaused around the wait. The wait spins first and naps after 0.3 ms, as our
## server does.

const CONNECT_FOR := 20_000_000
const SPIN := 300
const NAP := 50

## Has `count`, `spaces`, `act`, `finish`, `take_rewards`, `observation` and `reset_all`.
var players: Node
var port := 11008
var action_repeat := 9

var _stream := StreamPeerTCP.new()
var _ticks := 0
var _owes_step := false


func _ready() -> void:
	process_physics_priority = -1000
	var deadline := Time.get_ticks_usec() + CONNECT_FOR
	while not _connect_once() and Time.get_ticks_usec() < deadline:
		OS.delay_msec(20)  # Python may not listen yet
	if not _is_connected():
		_quit()


func _physics_process(_delta: float) -> void:
	if _ticks % action_repeat == 0:
		if _owes_step:
			_send_step()
		_serve_until_action()
	_ticks += 1


func _send_step() -> void:
	_owes_step = false
	var done: Array[bool] = players.finish()
	var reward: Array[float] = players.take_rewards()
	_send({"type": "step", "obs": _observations(), "reward": reward, "done": done})


func _serve_until_action() -> void:
	while true:
		var message := _receive()
		match message.get("type", "close"):
			"action":
				players.act(message["action"])
				_owes_step = true
				return
			"reset":
				players.reset_all()
				_send({"type": "reset", "obs": _observations()})
			"env_info":
				_send(_env_info())
			"handshake":
				pass
			_:
				_quit()
				return


func _observations() -> Array[Dictionary]:
	var found: Array[Dictionary] = []
	for agent in players.count:
		found.append({"obs": players.observation(agent)})
	return found


func _env_info() -> Dictionary:
	var spaces: Array[Dictionary] = players.spaces()
	var all_seen: Array[Dictionary] = []
	var all_done: Array[Dictionary] = []
	var names: Array[String] = []
	for agent in players.count:
		all_seen.append(spaces[0])
		all_done.append(spaces[1])
		names.append("shared_policy")
	return {
		"type": "env_info",
		"observation_space": all_seen,
		"action_space": all_done,
		"n_agents": players.count,
		"agent_policy_names": names,
	}


func _connect_once() -> bool:
	_stream = StreamPeerTCP.new()
	if _stream.connect_to_host("127.0.0.1", port) != OK:
		return false
	while _stream.get_status() == StreamPeerTCP.STATUS_CONNECTING:
		_stream.poll()
	if not _is_connected():
		return false
	_stream.set_no_delay(true)
	return true


func _is_connected() -> bool:
	return _stream.get_status() == StreamPeerTCP.STATUS_CONNECTED


func _send(message: Dictionary) -> void:
	var text := JSON.stringify(message, "", false).to_utf8_buffer()
	var bytes := PackedByteArray([0, 0, 0, 0])
	bytes.encode_u32(0, text.size())
	bytes.append_array(text)
	_stream.put_data(bytes)


## The next message; an empty one when the trainer is gone.
func _receive() -> Dictionary:
	var began := Time.get_ticks_usec()
	while _stream.get_available_bytes() == 0:
		_stream.poll()
		if not _is_connected():
			return {}
		if Time.get_ticks_usec() - began > SPIN:
			OS.delay_usec(NAP)
	var found: Variant = JSON.parse_string(_stream.get_utf8_string())
	return found if found is Dictionary else {}


func _quit() -> void:
	set_physics_process(false)
	get_tree().quit()
