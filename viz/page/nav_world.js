// The world of the navigator: one body in a flat level, by the rules of docs/vr_world.md
// for sticks (no snap turns, no teleports).

import { castRays, nearShapes, onFloor, onSeam, prismsOf, slide } from "./prisms.js";

const BODY_RADIUS = 0.25;
const GRAVITY = 9.81;
const IN_TURNS = 0.8;
const NEVER = 2 ** 30;

const clip = (x, low, high) => Math.min(Math.max(x, low), high);

/** Fraction of the old command that is left after one tick. */
const tickDecay = (spec) => spec.smoothing ** (1 / spec.ticks_per_decision);

/** The command that a stick asks for: dead zone, circle, and the comfort dial's limits. */
export function targetOf(action, spec, command, comfort) {
  const zone = spec.dead_zone;
  const target = action.map((value) => {
    const x = clip(value, -1, 1);
    return (Math.sign(x) * Math.max(Math.abs(x) - zone, 0)) / (1 - zone);
  });
  shorten(target, 1);
  if (spec.comfort_speed > 0) {
    const slowest = spec.comfort_speed / spec.max_speed;
    shorten(target, slowest + (1 - comfort) * (1 - slowest));
  }
  const facing = spec.facing ?? Math.PI;
  if (facing < Math.PI) turnAhead(target, facing + (1 - comfort) * (Math.PI - facing));
  if (comfort > 0) limitChanges(target, spec, command, comfort);
  return target;
}

function shorten(target, longest) {
  const scale = longest / Math.max(Math.hypot(target[0], target[1]), longest);
  target[0] *= scale;
  target[1] *= scale;
}

function turnAhead(target, facing) {
  const angle = Math.atan2(target[0], target[1]);
  const beyond = Math.max(Math.abs(angle) - facing, 0);
  const length = Math.hypot(target[0], target[1]) * Math.max(Math.cos(beyond), 0);
  const turned = clip(angle, -facing, facing);
  target[0] = length * Math.sin(turned);
  target[1] = length * Math.cos(turned);
}

/** Keeps the target so near to the command that accelerations stay within their limits. */
function limitChanges(target, spec, command, comfort) {
  const share = (1 - tickDecay(spec)) / spec.dt;
  const most = (spec.max_acceleration ?? 0) / comfort;
  const mostTurn = (spec.max_yaw_acceleration ?? 0) / comfort;
  const speed = Math.hypot(command[0], command[1]) * spec.max_speed;
  if (most > 0) {
    const turn = (IN_TURNS * most) / Math.max(speed * spec.max_yaw_rate, 1e-9);
    target[2] = clip(target[2], -turn, turn);
  }
  if (mostTurn > 0) {
    const step = mostTurn / (share * spec.max_yaw_rate);
    target[2] = clip(target[2], command[2] - step, command[2] + step);
  }
  if (most <= 0) return;
  const rate = Math.max(Math.abs(target[2]), Math.abs(command[2])) * spec.max_yaw_rate;
  const fastest = (IN_TURNS * most) / Math.max(rate * spec.max_speed, 1e-9);
  const scale = Math.min(1, fastest / Math.max(Math.hypot(target[0], target[1]), 1e-9));
  const change = [target[0] * scale - command[0], target[1] * scale - command[1]];
  const left = Math.max(most - speed * rate, (1 - IN_TURNS) * most);
  const step = left / (share * spec.max_speed);
  const part = Math.min(1, step / Math.max(Math.hypot(change[0], change[1]), 1e-9));
  target[0] = command[0] + change[0] * part;
  target[1] = command[1] + change[1] * part;
}

/** One body; `state` has x, y, z, yaw, velocity, yawRate, command, rays, their ends, contacts. */
export class NavWorld {
  constructor(level, spec) {
    this.spec = spec;
    this.level = prismsOf(level);
    this.comfort = 1;
  }

  /** Places the body at rest at [x, y, yaw]. */
  reset([x, y, yaw]) {
    this.state = {
      x, y, z: 0, yaw, velocity: [0, 0, 0], yawRate: 0, command: [0, 0, 0],
      rays: null, ends: null, rayAngle: yaw, path: 0, contactTicks: 0, collisions: 0,
      sinceContact: NEVER, fell: false, falling: false,
    };
    this.look();
    return this.state;
  }

  look() {
    const { state, spec, level } = this;
    state.rayAngle = spec.rays_in_head_frame ? state.yaw : 0;
    [state.rays, state.ends] = state.falling
      ? [new Float64Array(spec.num_rays).fill(spec.ray_length), new Uint8Array(spec.num_rays)]
      : castRays(state.x, state.y, state.rayAngle, spec, level);
  }

  /** Advances the body by one decision of a stick (strafe, forward, rotation). */
  step(action) {
    const { state, spec, level } = this;
    const target = targetOf(action, spec, state.command, this.comfort);
    const reach = BODY_RADIUS + spec.ticks_per_decision * spec.dt * spec.max_speed + 0.05;
    const near = nearShapes(state.x, state.y, reach, level);
    state.path = 0;
    state.contactTicks = 0;
    state.collisions = 0;
    for (let tick = 0; tick < spec.ticks_per_decision; tick++) this.tick(target, near);
    this.look();
    return state;
  }

  tick(target, near) {
    const { state, spec, level } = this;
    const decay = tickDecay(spec);
    const { dt } = spec;
    const [x0, y0] = [state.x, state.y];
    let touched = false;
    state.command = state.command.map((c, k) => decay * c + (1 - decay) * target[k]);
    state.yawRate = -state.command[2] * spec.max_yaw_rate;
    state.yaw += state.yawRate * dt;
    if (state.falling) {
      state.velocity[2] -= GRAVITY * dt;
      state.x += state.velocity[0] * dt;
      state.y += state.velocity[1] * dt;
      state.z += state.velocity[2] * dt;
    } else {
      const left = -state.command[0] * spec.max_speed;
      const ahead = state.command[1] * spec.max_speed;
      const cos = Math.cos(state.yaw);
      const sin = Math.sin(state.yaw);
      const x = x0 + (cos * ahead - sin * left) * dt;
      const y = y0 + (sin * ahead + cos * left) * dt;
      [state.x, state.y, touched] = slide(x0, y0, x, y, near, BODY_RADIUS);
      state.velocity = [(state.x - x0) / dt, (state.y - y0) / dt, 0];
      state.falling = !onFloor(state.x, state.y, level) && !onSeam(state.x, state.y, level);
    }
    state.path += Math.sqrt((state.x - x0) ** 2 + (state.y - y0) ** 2);
    this.count(touched);
    if (state.z < -spec.fall_depth) state.fell = true;
  }

  /** Counts a tick in contact; a touch after `rearm_ticks` without one is a collision. */
  count(touched) {
    const { state, spec } = this;
    if (!touched) {
      state.sinceContact += 1;
      return;
    }
    state.contactTicks += 1;
    if (state.sinceContact >= spec.rearm_ticks) state.collisions += 1;
    state.sinceContact = 0;
  }
}
