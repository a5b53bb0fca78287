class_name Sync
extends Node
## Stands where such a game has godot-rl's own: it must be set aside before it can do anything.

@export var action_repeat := 8
@export var speed_up := 1.0


func _ready() -> void:
	OS.crash("the Sync node was not set aside")


func _physics_process(_delta: float) -> void:
	OS.crash("the Sync node was not set aside")
