class_name AmbuloRlEpisode
extends RefCounted
## What an agent is asked to do: where it began, its goal, and when it ends.

## Rules of an episode that the game form of reset may set.
const DEFAULT_MAX_STEPS := 1000
const DEFAULT_GOAL_RADIUS := 1.0
## Range of the straight distance of a drawn goal, [m].
const GOAL_DISTANCE := Vector2(5.0, 30.0)

## Number of the episode, from 1.
var number := 0
## Decisions of the server when the episode began.
var began := 0
## Pose at the start: x, y [m], yaw [rad].
var origin: PackedFloat64Array = [0.0, 0.0, 0.0]
## Goal x, y, z, [m]; empty: none.
var goal: PackedFloat64Array = []
## Decisions until a timeout.
var max_steps := DEFAULT_MAX_STEPS
## Horizontal distance at which the goal is reached, [m].
var goal_radius := DEFAULT_GOAL_RADIUS
