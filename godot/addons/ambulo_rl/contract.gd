class_name AmbuloContract
extends RefCounted
## Constants of the VR world contract (docs/vr_world.md), the same in every engine.
##
## Axes: right-handed, X forward at yaw 0, Y left, Z up; metres, seconds, radians.
## Godot's own axes appear only behind [AmbuloAxes].

## Version of the contract that this add-on implements.
const VERSION := 1
## Radius of the body capsule, [m].
const BODY_RADIUS := 0.25
## Height of the body capsule, [m]; shapes that begin at or above it are overhead.
const BODY_HEIGHT := 1.75
## Shapes whose top is at or below this are floor paint, [m].
const STEP_HEIGHT := 0.01
## Where shapes have heights: tops up to this above the feet are stepped on, [m].
const CLIMB_HEIGHT := 0.25
## Rays pass gaps in the floor that are this wide, as a body does: seams between tiles, [m].
const MAX_SEAM := 0.05
## Where shapes have heights: least upward part of the unit normal of a floor.
const STEEPEST_FLOOR := sqrt(0.5)
## A goal is on the floor whose height differs by less, [m].
const SAME_FLOOR := 0.6
## Height of the camera above the XR origin, [m].
const EYE_HEIGHT := 1.6
## Left hand in the yaw frame (forward, left, up), [m]; the right one is mirrored.
const HAND_FORWARD := 0.35
const HAND_LEFT := 0.22
const HAND_UP := 1.1
## Fall acceleration, [m/s^2].
const GRAVITY := 9.81
## Passes of push-out from overlapping obstacles per tick.
const SLIDE_PASSES := 4
## Overlaps at one place that are looked at.
const MOST_OVERLAPS := 8
## A body that still overlaps by more after all passes takes its step back, [m].
const STUCK_DEPTH := 0.001
## Ticks since the last contact of a player who has touched nothing yet.
const NEVER := 1 << 30
## Yaw rate above which turning counts as uncomfortable, [rad/s].
const FAST_TURN := 0.7
## Share of the top speed above which moving counts as uncomfortable.
const FAST_SHARE := 0.8
## What the comfort score (1 at best) loses by each.
const FAST_TURN_COST := 0.3
const FAST_MOVE_COST := 0.2
## What ends a ray: its length, what stands still, an edge of the floor, or what moves.
const NOTHING := 0
const WALL := 1
const DROP := 2
const MOVER := 3
## Floor heights that are told along a ray, at equal parts of the way to its end; the last one is
## this far before it, [m].
const FLOOR_PARTS := 4
const BEFORE_END := 0.02
## What stands this near behind an edge of the floor ends a ray as well, [m].
const SAME_END := 0.03
## Moving things in sight that are told, and the numbers of each: x, y, half sizes a and b, cosine
## and sine of the yaw, bottom, top, kind (see [AmbuloThings]; 0: nothing), velocity x, y and z
## [m/s], yaw rate [rad/s].
const MOVERS_SEEN := 3
const MOVER_COLUMNS := 13
## Names of the discrete actions, by index.
const DISCRETE_ACTIONS: PackedStringArray = [
	"forward", "back", "left", "right", "turn_left", "turn_right", "idle"
]
