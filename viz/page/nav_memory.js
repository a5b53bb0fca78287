// What the navigator remembers, memory "path": visits of 1 m cells, obstacles near by, and the
// planned path; the port of envs/vr/task/memory.py.

import { Planner } from "./nav_planning.js";

const EXTENT = 64;
const DIRECTIONS = 8;
const RINGS = 4;
const VISITS = DIRECTIONS * RINGS + 2;
const AHEAD = [2.0, 4.0];

export class Memory {
  constructor(senses) {
    if (senses.memory !== "path") {
      throw new Error(`memory "${senses.memory}": the page has the memory "path" alone`);
    }
    this.visits = new Uint16Array(EXTENT * EXTENT);
    this.best = Infinity;
    this.stale = 0;
    this.planner = new Planner(senses.plan_reach ?? 2.5);
  }

  /**
   * Remembers one decision; its features. `state` is that of the world and `goal` x, y in the
   * frame of the level, `pose` x, y, yaw in that of the start; `distance` is the straight one.
   */
  update(state, goal, pose, distance) {
    this.visit(pose, distance);
    const { planner } = this;
    // Who falls goes nowhere.
    if (!state.falling) planner.update(state, goal);
    const [ahead, left] = planner.pointsAhead(state, AHEAD);
    const cos = Math.cos(state.yaw);
    const sin = Math.sin(state.yaw);
    const points = [planner.waypoint, ...ahead].flatMap(([px, py]) => {
      const [dx, dy] = [px - state.x, py - state.y];
      return [0.2 * (cos * dx + sin * dy), 0.2 * (cos * dy - sin * dx)];
    });
    return [
      ...this.visitFeatures(pose), ...planner.near(state),
      ...points, 0.05 * left, planner.found ? 1 : 0,
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
