// What the navigator remembers, memory "path": visits of 1 m cells, obstacles near by, and the
// planned path; the port of envs/vr/task/{memory,grid_planner}.py.

import { GridMap, HIT, NEAR, PER_METRE } from "./nav_grid.js";
import { Search } from "./nav_search.js";

const EXTENT = 64;
const DIRECTIONS = 8;
const RINGS = 4;
const VISITS = DIRECTIONS * RINGS + 2;
const NEAR_SECTORS = 16;
const NEAR_RANGE = 2.0;
const REPLAN = 3;
const WIDE_AGAIN = 9;
const ANY_AGAIN = 3;

/** Shortest paths on a map of what rays hit; the unknown counts as free. */
export class Planner {
  constructor(senses) {
    this.settings = {
      margin: senses.plan_margin ?? 1,
      walls: senses.plan_walls ?? 1,
      reach: Math.trunc((senses.plan_reach ?? 2.5) * PER_METRE),
    };
    this.map = new GridMap();
    this.search = new Search();
    this.points = [[0, 0], [0, 0], [0, 0]];
    this.length = 0;
    this.found = false;
    this.age = 0;
    this.pauseWide = 0;
    this.pauseAny = 0;
  }

  update([x, y], goal, rays, rayAngle, rayLength) {
    if (this.settings.walls > 1) this.map.mapPassed(x, y, rays, rayAngle);
    this.map.mapRays(x, y, rays, rayAngle, rayLength);
    if (this.map.mapBump(x, y, goal, this.points[0], this.found)) this.age = 0;
    this.age -= 1;
    if (this.age >= 0) return;
    this.age = REPLAN - 1;
    this.plan([x, y], goal);
  }

  plan(position, goal) {
    const { map, settings } = this;
    this.points = [[...goal], [...goal], [...goal]];
    this.found = false;
    this.length = Math.hypot(goal[0] - position[0], goal[1] - position[1]);
    if (this.pauseAny > 0) {
      this.pauseAny -= 1;
      return;
    }
    const wide = this.pauseWide === 0;
    this.pauseWide = Math.max(this.pauseWide - 1, 0);
    for (let attempt = 0; attempt < 4; attempt++) {
      // Without a way, bumps are forgotten, if there were any.
      if (attempt === 2 && !map.forgetBumps()) break;
      if (attempt % 2 === 0 && !wide) continue;
      const mask = attempt % 2 === 0 ? NEAR : HIT;
      const way = this.search.run(map.cells, position, goal, this.points, mask, settings);
      if (way >= 0) {
        this.length = way;
        this.found = true;
        break;
      }
      if (settings.walls > 1 && mask === NEAR) this.pauseWide = WIDE_AGAIN;
    }
    if (settings.walls > 1 && !this.found) this.pauseAny = ANY_AGAIN;
  }
}

export class Memory {
  constructor(senses) {
    if (senses.memory !== "path") {
      throw new Error(`memory "${senses.memory}": the page has the memory "path" alone`);
    }
    this.visits = new Uint16Array(EXTENT * EXTENT);
    this.best = Infinity;
    this.stale = 0;
    this.planner = new Planner(senses);
  }

  /**
   * Remembers one decision; its features. `pose` is x, y, yaw and `goal` x, y in the frame of
   * the start; ray 0 points along `rayAngle` there; `distance` is the straight one.
   */
  update(pose, goal, rays, rayAngle, rayLength, distance) {
    this.visit(pose, distance);
    const { planner } = this;
    planner.update(pose, goal, rays, rayAngle, rayLength);
    const near = planner.map.nearest(pose[0], pose[1], pose[2], NEAR_SECTORS, NEAR_RANGE);
    const cos = Math.cos(pose[2]);
    const sin = Math.sin(pose[2]);
    const points = planner.points.flatMap(([px, py]) => {
      const [dx, dy] = [px - pose[0], py - pose[1]];
      return [0.2 * (cos * dx + sin * dy), 0.2 * (cos * dy - sin * dx)];
    });
    return [
      ...this.visitFeatures(pose), ...Array.from(near, (d) => d / NEAR_RANGE),
      ...points, 0.05 * planner.length, planner.found ? 1 : 0,
    ];
  }

  visit([x, y], distance) {
    const at = visitCell(x, y);
    if (this.visits[at] < 65535) this.visits[at] += 1;
    if (distance < this.best - 0.1) {
      this.best = distance;
      this.stale = 0;
    } else {
      this.stale += 1;
    }
  }

  visitFeatures([x, y, yaw]) {
    const out = new Array(VISITS);
    const felt = (px, py) => 0.2 * Math.log1p(this.visits[visitCell(px, py)]);
    let at = 0;
    for (let d = 0; d < DIRECTIONS; d++) {
      const angle = yaw + (2 * Math.PI * d) / DIRECTIONS;
      for (let ring = 1; ring <= RINGS; ring++) {
        out[at++] = felt(x + Math.cos(angle) * ring, y + Math.sin(angle) * ring);
      }
    }
    out[at] = felt(x, y);
    out[at + 1] = Math.min(0.01 * this.stale, 3);
    return out;
  }
}

const visitCell = (x, y) => ((Math.floor(y) & 63) << 6) | (Math.floor(x) & 63);
