class_name AmbuloServerOptions
extends RefCounted
## The user arguments of the server (everything after `--` on the engine's command line), and
## whether it is to listen at all.
##
## A server that an argument has asked for (like `--port=8080`) must start, and a headless one
## waits for requests. Without such an argument the other arguments are the game's own; the
## server then listens only if the project says so, and never makes the game wait.

## How the engine's time passes: only by requests, or by the clock.
enum Mode { LOCKSTEP, PLAY }

## Project setting: listen, beside the main scene, in a debug build that no argument asked to.
const AUTOSTART := "ambulo/server/autostart"

## The scene that the project starts with.
const MAIN := "main"

const _HELP := (
	"--port=N --agents=N --mode=lockstep|play --token=T --max-body=BYTES --host=NAME"
	+ " --parent-pid=PID --idle-exit=SECONDS --scene=res://PATH --no-server"
	+ " --game=res://PATH|main --game-seed=N --spin=USEC"
)
const _WHOLE: Dictionary[String, Array] = {
	"--port": [0, 65535],
	"--agents": [1, 65536],
	"--max-body": [1024, 1 << 30],
	"--parent-pid": [1, 1 << 31],
	"--idle-exit": [1, 1 << 31],
	"--game-seed": [0, (1 << 31) - 1],
	"--spin": [0, 1_000_000],
}
const _TEXTS: PackedStringArray = ["--mode", "--token", "--host", "--scene", "--game"]

## TCP port on loopback; 0: any free one.
var port := 8080
## Players in the world at the start.
var agents := 1
## Bearer token that requests must carry; "": none.
var token := ""
var mode := Mode.PLAY
## Largest request body, [bytes].
var max_body := 1 << 23
## One more name that the Host header may hold.
var host := ""
## Scene of the game that is opened, and that the agents are in; "": they are in levels.
var scene := ""
## Scene of the game whose own nodes are the agents, or [constant MAIN]; "": they are not.
var game := ""
## Seed of the engine's random numbers when a game starts.
var seed := 0
## How long a request is awaited without sleep after the last one, [us]: it needs a core.
var spin := 300
## The engine quits when this process is gone; 0: not watched.
var parent_pid := 0
## The engine quits after this long without a request, [s]; 0: never.
var idle_exit := 0
## Whether to listen at all.
var enabled := true
## An argument names a setting of the server: it must be able to start, or the engine quits.
var explicit := false


## The options in `arguments`. Names in `foreign` (like "--policy") belong to others, and so do
## all unknown ones where none is a setting of the server. On an error it returns null and
## appends one line to `errors`.
static func parse(
	arguments: PackedStringArray, foreign: PackedStringArray, errors: PackedStringArray
) -> AmbuloServerOptions:
	var options := AmbuloServerOptions.new()
	options.explicit = is_asked_for(arguments, foreign)
	if options.explicit and DisplayServer.get_name() == "headless":
		options.mode = Mode.LOCKSTEP
	options.token = OS.get_environment("AMBULO_TOKEN")
	for argument in arguments:
		var name := argument.get_slice("=", 0)
		if name in foreign:
			continue
		if name == "--no-server":
			options.enabled = false
		elif options.explicit:
			var problem := options._read(name, argument.substr(name.length()).trim_prefix("="))
			if problem != "":
				errors.append("%s: %s" % [argument.left(80).c_escape(), problem])
				return null
	return options


## Whether one of `arguments` that is not in `foreign` is a setting of the server.
static func is_asked_for(arguments: PackedStringArray, foreign: PackedStringArray) -> bool:
	for argument in arguments:
		var name := argument.get_slice("=", 0)
		if name not in foreign and (_WHOLE.has(name) or name in _TEXTS):
			return true
	return false


## The options of a game whose own nodes are the agents; they are looked for in `arguments` before
## anything of the game is there. Null: it is no such game.
static func of_game(arguments: PackedStringArray) -> AmbuloServerOptions:
	for argument in arguments:
		if argument.begins_with("--game="):
			return parse(arguments, [], PackedStringArray())
	return null


## Whether to listen: `debug` is true in the editor's and in debug builds, `main_scene` while
## the project's main scene is open, and `autostart` is the setting [constant AUTOSTART].
func shall_listen(debug: bool, main_scene: bool, autostart: bool) -> bool:
	return enabled and (explicit or (debug and main_scene and autostart))


# One argument; the rule it breaks, or "".
func _read(name: String, value: String) -> String:
	if _WHOLE.has(name):
		var low: int = _WHOLE[name][0]
		var high: int = _WHOLE[name][1]
		if not value.is_valid_int() or value.to_int() < low or value.to_int() > high:
			return "expected a whole number from %d to %d" % [low, high]
		set(name.trim_prefix("--").replace("-", "_"), value.to_int())
		return ""
	if name not in _TEXTS:
		return "unknown argument; known are %s" % _HELP
	if value == "":
		return "expected a value"
	if name == "--mode":
		if value not in ["lockstep", "play"]:
			return "expected lockstep or play"
		mode = Mode.LOCKSTEP if value == "lockstep" else Mode.PLAY
	elif name == "--token":
		token = value
	elif name == "--scene":
		scene = value
	elif name == "--game":
		game = value
	else:
		host = value.to_lower()
	return ""
