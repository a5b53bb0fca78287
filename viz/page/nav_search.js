// The search of the navigator: A* on its columns from the body to near the goal; the port of
// envs/vr/navigator/{search,heap}.py for one floor, with their 32-bit costs and keys.

import {
  BUMP, CLOSED, FREE, NEAR, PER_METRE, SIDE, TIGHT, WALL, cell, centre, columnOf,
  unwrapped,
} from "./nav_columns.js";

const GOAL_RADIUS = 0.8;
const AT_GOAL = 0.9;
const OWN = 2;
const WALLS_PRICE = 2;
const TIGHT_PRICE = 5;
const POINTS = 300;
const END = SIDE * SIDE;
const MOST_EXPANDED = 60000;
const ROOM = 8 * MOST_EXPANDED - 600;
const DX = [1, 1, 0, -1, -1, -1, 0, 1];
const DY = [0, 1, 1, 1, 0, -1, -1, -1];
const STRAIGHT = 1 / PER_METRE;
const DIAGONAL = STRAIGHT * Math.sqrt(2);

/** Least cost from (x, y) to the goal, [m]. */
function restFrom(x, y, goal) {
  const dx = Math.abs(goal[0] - x);
  const dy = Math.abs(goal[1] - y);
  const far = Math.max(dx, dy) + (Math.sqrt(2) - 1) * Math.min(dx, dy);
  return Math.max(far - 1.09 * GOAL_RADIUS, 0);
}

export class Search {
  constructor() {
    this.cost = new Float32Array(END + 1);
    this.parent = new Int32Array(END + 1);
    this.stamp = new Int32Array(END + 1);
    this.keys = new Float32Array(ROOM);
    this.heap = new Int32Array(ROOM);
    this.size = 0;
    this.mark = 0;
  }

  /**
   * The points of the cheapest path from `from` to `goal`, or null without one. Columns with
   * bits of `mask` are closed, unless they are free, or near to the body or goal.
   */
  run({ bits }, from, goal, mask) {
    const [bx, by] = from.map(cell);
    this.mark += 1;
    this.size = 0;
    this.reach(columnOf(bx, by), 0, 0, -1);
    for (let expanded = 0; this.size > 0 && expanded < MOST_EXPANDED;) {
      const key = this.keys[0];
      const node = this.pop();
      if (node === END) return this.path(bx, by, goal);
      const here = this.cost[node];
      const ix = unwrapped(node % SIDE, bx);
      const iy = unwrapped(Math.floor(node / SIDE), by);
      const [x, y] = [centre(ix), centre(iy)];
      if (key > here + restFrom(x, y, goal) + 1e-3) continue;
      expanded += 1;
      if (Math.hypot(goal[0] - x, goal[1] - y) <= GOAL_RADIUS) this.reach(END, here, 0, node);
      for (let q = 0; q < 8; q++) {
        const [jx, jy] = [ix + DX[q], iy + DY[q]];
        const away = Math.max(Math.abs(jx - bx), Math.abs(jy - by));
        if (away >= SIDE / 2 - 1) continue;
        const next = columnOf(jx, jy);
        const flags = bits[next];
        const [x2, y2] = [centre(jx), centre(jy)];
        if (flags & (mask | BUMP)) {
          const atGoal = Math.max(Math.abs(x2 - goal[0]), Math.abs(y2 - goal[1])) <= AT_GOAL;
          if (flags & CLOSED || !(atGoal || away <= OWN || flags & FREE)) continue;
        }
        let price = q % 2 ? DIAGONAL : STRAIGHT;
        if ((flags & (WALL | FREE)) === WALL) price *= WALLS_PRICE;
        if (flags & (NEAR | TIGHT)) price *= TIGHT_PRICE;
        this.reach(next, here + price, restFrom(x2, y2, goal), node);
      }
    }
    return null;
  }

  /** Points of the path to the end, the goal last; a longer one is cut. */
  path(bx, by, goal) {
    const points = [];
    for (let node = this.parent[END]; node >= 0; node = this.parent[node]) {
      points.push([centre(unwrapped(node % SIDE, bx)), centre(unwrapped(Math.floor(node / SIDE), by))]);
    }
    return [...points.reverse(), goal.map(Math.fround)].slice(0, POINTS);
  }

  /** Puts `node` on the heap if this path is its cheapest yet; `rest` is left at least, [m]. */
  reach(node, cost, rest, parent) {
    const { keys, heap } = this;
    if (this.stamp[node] === this.mark && this.cost[node] <= cost + 1e-4) return;
    if (this.size >= ROOM) return;
    this.stamp[node] = this.mark;
    this.cost[node] = cost;
    this.parent[node] = parent;
    const key = Math.fround(cost + rest);
    let at = this.size++;
    for (let up; at > 0 && keys[(up = (at - 1) >> 1)] > key; at = up) {
      keys[at] = keys[up];
      heap[at] = heap[up];
    }
    keys[at] = key;
    heap[at] = node;
  }

  /** Takes the cheapest node off the heap: the last entry takes its place and moves down. */
  pop() {
    const { keys, heap } = this;
    const node = heap[0];
    const size = --this.size;
    const [key, last] = [keys[size], heap[size]];
    let at = 0;
    for (let low = 1; low < size; low = 2 * at + 1) {
      if (low + 1 < size && keys[low + 1] < keys[low]) low += 1;
      if (key <= keys[low]) break;
      keys[at] = keys[low];
      heap[at] = heap[low];
      at = low;
    }
    keys[at] = key;
    heap[at] = last;
    return node;
  }
}
