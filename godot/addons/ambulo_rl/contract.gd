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
## Height of the body capsule, [m]; shapes that begin at or above it are above the body.
const BODY_HEIGHT := 1.75
## Shapes whose top is at or below this are floor paint, [m].
const STEP_HEIGHT := 0.01
## In levels with heights: largest step that a body climbs, [m].
const CLIMB_HEIGHT := 0.25
## Widest gap in the floor, such as a seam between tiles, that bodies and rays cross, [m].
const MAX_SEAM := 0.05
## In levels with heights: least upward component of the unit normal of a floor.
const STEEPEST_FLOOR := sqrt(0.5)
## Largest difference in height between a goal and its floor, [m].
const SAME_FLOOR := 0.6
## Height of the camera above the XR origin, [m].
const EYE_HEIGHT := 1.6
## Left hand in the yaw frame (forward, left, up), [m]; the right one is mirrored.
const HAND_FORWARD := 0.35
const HAND_LEFT := 0.22
const HAND_UP := 1.1
## Fall acceleration, [m/s^2].
const GRAVITY := 9.81
## Iterations of push-out from overlapping obstacles per tick.
const SLIDE_PASSES := 4
## Most overlaps examined at one place.
const MOST_OVERLAPS := 8
## A body that overlaps by more than this after all iterations returns to where its step began, [m].
const STUCK_DEPTH := 0.001
## Ticks since the last contact, before the first contact.
const NEVER := 1 << 30
## Yaw rate above which turning counts as uncomfortable, [rad/s].
const FAST_TURN := 0.7
## Fraction of the top speed above which moving counts as uncomfortable.
const FAST_SHARE := 0.8
## Deductions from the comfort score, whose best value is 1.
const FAST_TURN_COST := 0.3
const FAST_MOVE_COST := 0.2
## End of a ray: its maximum length, a static obstacle, a floor edge or a moving obstacle.
const NOTHING := 0
const WALL := 1
const DROP := 2
const MOVER := 3
## Number of floor heights reported along a ray, at equal fractions of its length; the last one is
## this far before its end, [m].
const FLOOR_PARTS := 4
const BEFORE_END := 0.02
## A static obstacle at most this far behind a floor edge also ends the ray, [m].
const SAME_END := 0.03
## Most reported moving objects in sight, and the numbers of each: x, y, half sizes a and b, cosine
## and sine of the yaw, bottom, top, kind (see [AmbuloThings]; 0: none), velocity x, y and z [m/s],
## yaw rate [rad/s].
const MOVERS_SEEN := 3
const MOVER_COLUMNS := 13
## Names of the discrete actions, by index.
const DISCRETE_ACTIONS: PackedStringArray = [
	"forward", "back", "left", "right", "turn_left", "turn_right", "idle"
]
