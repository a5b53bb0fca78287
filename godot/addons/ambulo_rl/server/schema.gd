class_name AmbuloSchema
extends RefCounted
## What `/rl/spec` answers: settings, layout of a state row, published observation, actions.

const _UNITS: Dictionary[String, String] = {
	"camera_position": "m",
	"camera_rotation": "1",
	"camera_velocity": "m/s",
	"camera_angular_velocity": "rad/s",
	"ray_sensors": "m",
	"left_controller_position": "m",
	"right_controller_position": "m",
	"left_controller_velocity": "m/s",
	"right_controller_velocity": "m/s",
	"goal_position": "m",
	"goal_distance": "m",
	"goal_direction": "1",
}


## The schema of `world`.
static func of(world: AmbuloWorld) -> Dictionary:
	return {
		"api_version": AmbuloEngineApi.API_VERSION,
		"contract_version": AmbuloContract.VERSION,
		"engine": AmbuloEngineApi.about(),
		"agents": world.num_agents,
		"spec": world.spec.to_dict(),
		"state_layout": AmbuloWorld.state_layout(world.spec),
		"observation": _observation(world.spec),
		"action": _discrete(world.spec) if world.spec.discrete else _continuous(world.spec),
	}


static func _observation(spec: AmbuloSpec) -> Array[Dictionary]:
	var parts := AmbuloObservation.layout(spec.num_rays, false, "none")
	var rows: Array[Dictionary] = []
	var at := 0
	for name: String in _UNITS:
		var size: int = parts[name]
		(
			rows
			. append(
				{
					"name": name,
					"start": at,
					"stop": at + size,
					"unit": _UNITS[name],
					"meaning": _meaning(name, spec),
				}
			)
		)
		at += size
	return rows


static func _meaning(name: String, spec: AmbuloSpec) -> String:
	var head := spec.rays_in_head_frame
	var axes := "head (yaw) frame" if head else "world axes"
	var origin := "from the episode's start, in its heading frame" if head else "world"
	match name:
		"camera_position":
			return "head camera, %s" % origin
		"camera_rotation":
			return "quaternion xyzw, %s" % origin
		"ray_sensors":
			return "ray i at i * 360/%d deg to the left of +X, %s" % [spec.num_rays, axes]
		"left_controller_position", "right_controller_position", "goal_position":
			return "from the XR origin, %s" % axes
		"goal_distance":
			return "horizontal"
		"goal_direction":
			return "unit vector, %s" % axes
	return axes


static func _continuous(spec: AmbuloSpec) -> Array[Dictionary]:
	var speed := "%s m/s at 1" % spec.max_speed
	return [
		_axis("strafe", "+ is right, %s" % speed),
		_axis("forward", "+ is ahead, %s" % speed),
		_axis("rotation", "+ is to the right, %s rad/s at 1" % spec.max_yaw_rate),
	]


static func _axis(name: String, meaning: String) -> Dictionary:
	return {"name": name, "low": -1.0, "high": 1.0, "unit": "1", "meaning": meaning}


static func _discrete(spec: AmbuloSpec) -> Array[Dictionary]:
	var rows: Array[Dictionary] = []
	for index in AmbuloContract.DISCRETE_ACTIONS.size():
		var meaning := "%s m" % spec.move_distance
		if index >= 4:
			meaning = "%s rad" % spec.turn_angle if index < 6 else "nothing"
		(
			rows
			. append(
				{
					"name": AmbuloContract.DISCRETE_ACTIONS[index],
					"low": index,
					"high": index,
					"unit": "index",
					"meaning": meaning,
				}
			)
		)
	return rows
