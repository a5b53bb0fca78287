// What the navigator remembers, memory "navigator": how long it has been here, obstacles near by,
// and the planned path; the port of envs/vr/task/memory.py and envs/vr/navigator/features.py in
// levels where nothing moves.

import { Planner } from "./nav_planning.js";

const EXTENT = 64;
const AHEAD = [1.0, 2.0, 4.0];
const WALKS = [1, 0, 0, 0, 0];
const MOVER = new Array(21).fill(0);
const CARRIER = new Array(5).fill(0);

export class Memory {
  constructor(senses, { max_speed: pace }) {
    if (senses.memory !== "navigator") {
      throw new Error(`memory "${senses.memory}": the page has the memory "navigator" alone`);
    }
    this.visits = new Uint16Array(EXTENT * EXTENT);
    this.best = Infinity;
    this.stale = 0;
    this.planner = new Planner(senses.plan_reach ?? 2.5, pace);
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
    const turned = (scale, dx, dy) => [scale * (cos * dx + sin * dy), scale * (cos * dy - sin * dx)];
    const towards = ([px, py]) => turned(0.2, px - state.x, py - state.y);
    return [
      ...this.stay(pose), ...planner.near(state), ...towards(planner.waypoint),
      ...ahead.flatMap((point) => [...towards(point), 0]), Math.min(0.05 * left, 3),
      planner.found ? 1 : 0, 0, ...WALKS, ...turned(0.5, ...planner.velocity), ...MOVER, ...CARRIER,
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

  /** How long it has been in this cell, and how long it has not come nearer to the goal. */
  stay([x, y]) {
    const felt = 0.2 * Math.log1p(this.visits[visitCell(x, y)]);
    return [felt, Math.min(0.01 * this.stale, 3)];
  }
}

const visitCell = (x, y) => ((Math.floor(y) & 63) << 6) | (Math.floor(x) & 63);
