// One episode of the navigator: what it observes, decides, and when the episode ends; the port
// of envs/vr/task/observation.py and of the rules of `navigate`.

import { Memory } from "./nav_memory.js";
import { NavWorld } from "./nav_world.js";

const EYE_HEIGHT = 1.6;
const SPEEDS = 0.5;
const HANDS = [[0.35, 0.22, 1.1], [0.35, -0.22, 1.1]];

const modulo = (a, b) => a - Math.floor(a / b) * b;

function rotated(x, y, angle) {
  const cos = Math.cos(angle);
  const sin = Math.sin(angle);
  return [cos * x - sin * y, sin * x + cos * y];
}

export class NavEpisode {
  /** `start` is x, y, yaw and `goal` x, y in `level`; `policy` is a `Policy`. */
  constructor(policy, level, start, goal, comfort) {
    const { senses } = policy.header;
    if (senses.frame !== "head") throw new Error("the page has observations in the head's frame alone");
    this.policy = policy;
    this.eyes = policy.header.world.eye_height ?? EYE_HEIGHT;
    this.hands = HANDS.map((hand) => hand.map((x) => (x * this.eyes) / EYE_HEIGHT));
    this.goal = goal;
    this.origin = start;
    this.memory = new Memory(senses, policy.header.world);
    this.world = new NavWorld(level, policy.header.world);
    this.world.comfort = comfort;
    this.state = this.world.reset(start);
    this.steps = 0;
    this.path = 0;
    this.collisions = 0;
    this.outcome = "";
    this.observation = this.observe();
  }

  /** Length of a decision, [s]. */
  get seconds() {
    const { ticks_per_decision: ticks, dt } = this.policy.header.world;
    return ticks * dt;
  }

  get distance() {
    return Math.hypot(this.goal[0] - this.state.x, this.goal[1] - this.state.y);
  }

  /** A point of the world in the frame of the start. */
  fromStart(x, y) {
    return rotated(x - this.origin[0], y - this.origin[1], -this.origin[2]);
  }

  /** The observation of this decision, 32-bit floats; the memory takes the decision in. */
  observe() {
    const { state, goal } = this;
    const yaw = state.yaw - this.origin[2];
    const half = 0.5 * modulo(yaw + Math.PI, 2 * Math.PI) - 0.5 * Math.PI;
    const [vx, vy] = rotated(state.velocity[0], state.velocity[1], -state.yaw);
    const vz = state.velocity[2];
    const rate = state.yawRate;
    const handVelocity = this.hands.flatMap(([hx, hy]) => [vx - rate * hy, vy + rate * hx, vz]);
    const [gx, gy] = rotated(goal[0] - state.x, goal[1] - state.y, -state.yaw);
    const gz = -state.z;
    const length = Math.max(Math.sqrt(gx * gx + gy * gy + gz * gz), 1e-9);
    const place = this.fromStart(state.x, state.y);
    const remembered = this.memory.update(state, goal, [...place, yaw], this.distance);
    const dial = this.policy.header.senses.comfort === undefined ? [] : [this.world.comfort];
    return Float32Array.from([
      ...place, state.z + this.eyes, 0, 0, Math.sin(half), Math.cos(half),
      vx, vy, vz, 0, 0, rate, ...state.rays, ...this.hands.flat(), ...handVelocity,
      gx, gy, gz, Math.hypot(gx, gy), gx / length, gy / length, gz / length,
      ...dial, ...remembered,
    ]);
  }

  /** The action of a decision: where its stick rests, an agent that follows its plan goes on as that asks. */
  followingPlan(action) {
    const { senses, world, observation: parts } = this.policy.header;
    const stick = Math.max(Math.abs(action[0]), Math.abs(action[1]));
    if (!senses.follow_plan || stick > world.dead_zone) return action;
    const { start } = parts.find((part) => part.name === "route_velocity");
    const ahead = this.observation[start] / SPEEDS;
    const left = this.observation[start + 1] / SPEEDS;
    const longest = Math.max(Math.hypot(ahead, left), world.max_speed);
    const zone = world.dead_zone;
    const undone = (x) => Math.sign(x) * (Math.abs(x) * (1 - zone) + zone);
    return [undone(-left / longest), undone(ahead / longest), action[2]];
  }

  /** One decision; `outcome` becomes "reached", "fell" or "timeout" when the episode ends. */
  step() {
    this.action = this.followingPlan(this.policy.act(this.observation));
    this.world.step(this.action);
    this.steps += 1;
    this.path += this.state.path;
    this.collisions += this.state.collisions;
    const { goal_radius: radius, max_steps: most } = this.policy.header.episode;
    if (this.state.fell) this.outcome = "fell";
    else if (this.state.z >= 0 && this.distance < radius) this.outcome = "reached";
    else if (this.steps >= most) this.outcome = "timeout";
    this.observation = this.observe();
    return this.outcome;
  }
}
