// The search of the grid planner: A* on its map of cells from the goal to the body; the port
// of envs/vr/task/grid_search_kernels.py, with its 32-bit costs and keys.

import { BESIDE, BUMP, FREE, GRID, HIT, PER_METRE, WALL, cellAt, roundEven } from "./nav_grid.js";

const AHEAD = [2.0 * PER_METRE, 4.0 * PER_METRE];
const MOST_CELLS = 20000;
const GOAL_CELLS = 3;
const OWN_CELLS = 2;
const DX = [1, 1, 0, -1, -1, -1, 0, 1];
const DY = [0, 1, 1, 1, 0, -1, -1, -1];
const DIAGONAL = Math.sqrt(2);
const COST = [1, DIAGONAL, 1, DIAGONAL, 1, DIAGONAL, 1, DIAGONAL];
const HALF = GRID / 2;

function octile(dx, dy) {
  const [a, b] = [Math.abs(dx), Math.abs(dy)];
  return Math.max(a, b) + (DIAGONAL - 1) * Math.min(a, b);
}

export class Search {
  constructor() {
    this.cost = new Float32Array(GRID * GRID);
    this.parent = new Int8Array(GRID * GRID);
    this.stamp = new Int32Array(GRID * GRID);
    this.keys = new Float32Array(8 * MOST_CELLS + 16);
    this.heap = new Int32Array(8 * MOST_CELLS + 16);
    this.size = 0;
    this.mark = 0;
  }

  /**
   * Writes the waypoint and the points ahead into `points`; the length of the path in
   * metres, or -1 without one. Cells with bits of `mask` are closed.
   */
  run(cells, position, goal, points, mask, { margin, walls, reach }) {
    const px = Math.floor(position[0] * PER_METRE);
    const py = Math.floor(position[1] * PER_METRE);
    if (!this.expand(cells, px, py, goal, mask, margin, walls)) return -1;
    return this.follow(cells, px, py, points, mask, margin, reach);
  }

  expand(cells, px, py, goal, mask, margin, walls) {
    const { cost, parent, stamp, keys, heap } = this;
    const mark = ++this.mark;
    const bound = (x) => Math.min(Math.max(x, 2 - HALF), HALF - 2);
    const gx = bound(Math.floor(goal[0] * PER_METRE) - px);
    const gy = bound(Math.floor(goal[1] * PER_METRE) - py);
    const first = cellAt(gx + px, gy + py);
    cost[first] = 0;
    stamp[first] = mark;
    parent[first] = -1;
    this.size = 0;
    this.push(octile(gx, gy), (gy + HALF) * GRID + gx + HALF);
    for (let expanded = 0; this.size > 0 && expanded < MOST_CELLS;) {
      const key = keys[0];
      const x = (heap[0] % GRID) - HALF;
      const y = Math.floor(heap[0] / GRID) - HALF;
      this.pop();
      const here = cost[cellAt(x + px, y + py)];
      if (key > here + octile(x, y) + 1e-3) continue;
      if (x === 0 && y === 0) return true;
      expanded += 1;
      for (let m = 0; m < 8; m++) {
        const nx = x + DX[m];
        const ny = y + DY[m];
        if (Math.abs(nx) >= HALF - 1 || Math.abs(ny) >= HALF - 1) continue;
        const at = cellAt(nx + px, ny + py);
        const bits = cells[at];
        if (bits & (mask | BUMP)) {
          const nearGoal = Math.max(Math.abs(nx - gx), Math.abs(ny - gy)) <= GOAL_CELLS;
          const own = Math.max(Math.abs(nx), Math.abs(ny)) <= OWN_CELLS;
          if (bits & (HIT | BUMP) || !(nearGoal || own)) continue;
        }
        let price = COST[m];
        if (bits & BESIDE) price *= margin;
        if ((bits & (WALL | FREE)) === WALL) price *= walls;
        const next = here + price;
        if (stamp[at] === mark && cost[at] <= next + 1e-4) continue;
        stamp[at] = mark;
        cost[at] = next;
        parent[at] = (m + 4) % 8;
        this.push(next + octile(nx, ny), (ny + HALF) * GRID + nx + HALF);
      }
    }
    return false;
  }

  follow(cells, px, py, points, mask, margin, reach) {
    let [x, y, walked, seen] = [0, 0, 0, true];
    for (let step = 0; ; step++) {
      const m = this.parent[cellAt(x + px, y + py)];
      if (m < 0) return walked / PER_METRE;
      x += DX[m];
      y += DY[m];
      walked += COST[m];
      const place = [(px + x + 0.5) / PER_METRE, (py + y + 0.5) / PER_METRE];
      if (seen && step > 0) seen = step < reach && isClear(cells, px, py, x, y, mask, margin);
      if (seen) points[0] = place;
      AHEAD.forEach((far, k) => {
        if (walked <= far) points[1 + k] = place;
      });
    }
  }

  push(key, cell) {
    const { keys, heap } = this;
    let at = this.size++;
    keys[at] = key;
    heap[at] = cell;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (keys[up] <= keys[at]) return;
      this.swap(up, at);
      at = up;
    }
  }

  /** Removes the root: the last entry takes its place and moves down. */
  pop() {
    const { keys, heap } = this;
    const size = --this.size;
    keys[0] = keys[size];
    heap[0] = heap[size];
    for (let at = 0; ;) {
      let low = 2 * at + 1;
      if (low >= size) return;
      if (low + 1 < size && keys[low + 1] < keys[low]) low += 1;
      if (keys[at] <= keys[low]) return;
      this.swap(low, at);
      at = low;
    }
  }

  swap(a, b) {
    const { keys, heap } = this;
    [keys[a], keys[b]] = [keys[b], keys[a]];
    [heap[a], heap[b]] = [heap[b], heap[a]];
  }
}

/** Whether the straight line from the body to the cell (x, y) from it is open. */
function isClear(cells, px, py, x, y, mask, margin) {
  const steps = 2 * Math.max(Math.abs(x), Math.abs(y));
  const ends = cells[cellAt(px, py)] | cells[cellAt(px + x, py + y)];
  let closed = mask | BUMP;
  if (margin > 1 && !(ends & BESIDE)) closed |= BESIDE;
  for (let k = 1; k <= steps; k++) {
    const cx = roundEven((x * k) / steps);
    const cy = roundEven((y * k) / steps);
    const own = Math.max(Math.abs(cx), Math.abs(cy)) <= OWN_CELLS;
    if (cells[cellAt(px + cx, py + cy)] & (own ? HIT | BUMP : closed)) return false;
  }
  return true;
}
