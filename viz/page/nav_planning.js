// From the map of the navigator to a path, the waypoint on it and a velocity, in the frame of the
// level; the port of envs/vr/navigator/{navigator,planning,steering,features}.py where nothing moves.

import {
  BUMP, CLOSED, Columns, PER_METRE, SIDE, TIGHT, cell, columnOf,
} from "./nav_columns.js";
import { Search } from "./nav_search.js";

const REPLAN = 3;
const STUCK = 30;
const MOVED = 0.15;
const LEAP = 0.6;
const BUMPS = [0.25, 0.6];
const AT_GOAL = 0.3;
const PASSED = 12;
const OWN = 0.5;
const FARTHEST = (SIDE / 2 - 4) / PER_METRE;
const SECTORS = 16;
const NEAR_RANGE = 2.0;
const BRAKE = [0.45, 0.27, 5.0];

const modulo = (a, b) => a - Math.floor(a / b) * b;
const between = (a, b) => Math.hypot(b[0] - a[0], b[1] - a[1]);

export class Planner {
  /** Waypoints lie at most `reach` [m] along the path; it is walked at `pace` [m/s]. */
  constructor(reach, pace) {
    this.pace = pace;
    this.velocity = [0, 0];
    this.reach = Math.trunc(reach * PER_METRE);
    this.columns = new Columns();
    this.search = new Search();
    this.points = [];
    this.waypoint = [0, 0];
    this.found = false;
    this.mask = CLOSED;
    this.age = 0;
    this.rest = [Infinity, Infinity];
    this.still = 0;
  }

  /** Maps what a body senses, and plans its way to `goal` if the plan is old. */
  update(state, goal) {
    const here = [state.x, state.y];
    this.columns.keepAround(...here, Math.max(...state.rays));
    this.columns.addRays(state);
    const way = goal.map((g, k) => g - here[k]);
    const far = Math.max(...way.map(Math.abs), 1e-9);
    const end = way.map((w, k) => here[k] + Math.min(1, FARTHEST / far) * w);
    this.noteBump(here, end);
    this.age -= 1;
    if (this.age < 0 || this.points.length === 0) {
      this.age = REPLAN - 1;
      this.find(here, end);
      this.aim(here);
    }
    this.steer(state, here);
  }

  /** Finds the velocity: to the waypoint, but not into what is near. */
  steer({ rays, rayAngle }, here) {
    const far = between(here, this.waypoint);
    const speed = far > 1e-6 ? this.pace / far : 0;
    const velocity = here.map((h, k) => speed * (this.waypoint[k] - h));
    const [near, stop, gain] = BRAKE;
    rays.forEach((ray, r) => {
      if (ray >= near) return;
      const heading = rayAngle + (2 * Math.PI * r) / rays.length;
      const [cx, sy] = [Math.cos(heading), Math.sin(heading)];
      const over = velocity[0] * cx + velocity[1] * sy - Math.max(ray - stop, 0) * gain;
      if (over > 0) {
        velocity[0] -= over * cx;
        velocity[1] -= over * sy;
      }
    });
    this.velocity = velocity;
  }

  /** Closes the map ahead of a body that is stuck. */
  noteBump(here, goal) {
    const moved = between(this.rest, here);
    if (moved > LEAP) this.points = [];
    if (moved <= MOVED) {
      this.still += 1;
    } else {
      this.rest = here;
      this.still = 0;
    }
    if (this.still < STUCK || between(here, goal) < AT_GOAL) return;
    this.still = 0;
    this.age = 0;
    for (const point of this.points) {
      const far = between(here, point);
      if (far > BUMPS[1]) break;
      if (far > BUMPS[0]) this.columns.add(...point, BUMP);
    }
  }

  /** Searches with tight places closed, then open, then without what was bumped into. */
  find(here, goal) {
    for (let attempt = 0; attempt < 3; attempt++) {
      if (attempt === 2 && !this.columns.forgetBumps()) break;
      this.mask = attempt === 0 ? CLOSED | TIGHT : CLOSED;
      const points = this.search.run(this.columns, here, goal, this.mask);
      this.found = points !== null;
      this.points = points ?? [goal.map(Math.fround)];
      if (this.found) return;
    }
  }

  /** Finds the waypoint: the furthest point in clear line. */
  aim(here) {
    const { points } = this;
    let at = 0;
    const last = Math.min(points.length, this.reach) - 1;
    while (at < last && (at < 1 || this.isClear(here, points[at + 1]))) at += 1;
    this.waypoint = points[at];
  }

  /** Whether a straight walk from the body to a point crosses nothing closed. */
  isClear(from, to) {
    const far = between(from, to);
    const steps = Math.trunc(far / 0.1) + 1;
    for (let s = 1; s <= steps; s++) {
      const part = s / steps;
      const [c, r] = from.map((v, k) => cell(v + (to[k] - v) * part));
      const bits = this.columns.bits[columnOf(c, r)];
      if (bits & CLOSED || (bits & this.mask && part * far > OWN)) return false;
    }
    return true;
  }

  /** The path from its point nearest to the body on. */
  ahead({ x, y }) {
    const offs = this.points.slice(0, PASSED).map((point) => between([x, y], point));
    return this.points.slice(offs.indexOf(Math.min(...offs)));
  }

  /** Points at the distances `ahead` on the path, or its end, and what is left of it, [m]. */
  pointsAhead(state, ahead) {
    const path = this.ahead(state);
    const out = ahead.map(() => path[0]);
    let walked = 0;
    for (let j = 1; j < path.length; j++) {
      walked += between(path[j - 1], path[j]);
      ahead.forEach((far, k) => {
        if (walked <= far) out[k] = path[j];
      });
    }
    return [out, walked];
  }

  /** Distances to the nearest closed column in each sector, the first ahead, of `NEAR_RANGE`. */
  near({ x, y, yaw }) {
    const out = new Array(SECTORS).fill(1);
    for (const [cx, cy] of this.columns.closed(x, y, NEAR_RANGE * PER_METRE)) {
      const turn = (Math.atan2(cy - y, cx - x) - yaw) / (2 * Math.PI);
      const k = modulo(Math.floor(turn * SECTORS + 0.5), SECTORS);
      out[k] = Math.min(out[k], Math.hypot(cx - x, cy - y) / NEAR_RANGE);
    }
    return out;
  }
}
