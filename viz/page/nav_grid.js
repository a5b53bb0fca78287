// What the grid planner knows of its cells, as bits; the port of
// envs/vr/task/grid_map_kernels.py. Maps wrap around after 128 m.

export const PER_METRE = 4;
export const GRID = 512;
export const NEAR = 1;
export const HIT = 2;
export const BESIDE = 4;
export const BUMP = 8;
export const FREE = 16;
export const WALL = 32;
const BESIDES = 2;
const WALLS = 6;
const STUCK = 30;
const MOVED = 0.15;
const BUMPED = 2;
const AT_GOAL = 0.75;
const SPACING = 1 / PER_METRE;
const SAME_SPOT = 0.1;
const SAME_DIRECTION = Math.PI / 6;
const BEYOND = 0.5;
const SAME_WALL = 0.1;
const TURN = 2 * Math.PI;

/** Index of cell (column, row), which wraps around. */
export const cellAt = (c, w) => (((w % GRID) + GRID) % GRID) * GRID + (((c % GRID) + GRID) % GRID);
/** Rest of a division that has the sign of the divisor. */
export const modulo = (a, b) => a - Math.floor(a / b) * b;
/** Nearest whole number; of two equally near ones the even one. */
export function roundEven(x) {
  const below = Math.floor(x);
  const rest = x - below;
  return rest > 0.5 || (rest === 0.5 && below & 1) ? below + 1 : below;
}

export class GridMap {
  constructor() {
    this.cells = new Uint8Array(GRID * GRID);
    /** Where in its cell a ray ended, and its direction, in 5 + 5 + 6 bits. */
    this.spots = new Uint16Array(GRID * GRID);
    this.rest = [Infinity, Infinity];
    this.still = 0;
  }

  /** Marks the cells that rays have passed, and forgets hits that are there no more. */
  mapPassed(x0, y0, rays, rayAngle) {
    const step = TURN / rays.length;
    for (let r = 0; r < rays.length; r++) {
      const angle = rayAngle + step * r;
      const cos = Math.cos(angle);
      const sin = Math.sin(angle);
      for (let k = 0; k < Math.ceil(rays[r] / SPACING); k++) {
        const c = Math.floor((x0 + cos * k * SPACING) * PER_METRE);
        const w = Math.floor((y0 + sin * k * SPACING) * PER_METRE);
        const at = cellAt(c, w);
        this.cells[at] |= FREE;
        if (!(this.cells[at] & HIT)) continue;
        const [sx, sy, turn] = this.spot(at, angle);
        const dx = sx + c / PER_METRE - x0;
        const dy = sy + w / PER_METRE - y0;
        const along = cos * dx + sin * dy;
        const left = cos * dy - sin * dx;
        const gone = Math.abs(left) < SAME_SPOT && Math.abs(turn) < SAME_DIRECTION
          && rays[r] > along + BEYOND && !ofTheWall(rays, r, along, left);
        if (gone) this.forgetHit(c, w);
      }
    }
  }

  /** Offsets of a hit in its cell, [m], and from its ray's direction to `angle`, [rad]. */
  spot(at, angle) {
    const packed = this.spots[at];
    const dx = ((packed >> 11) + 0.5) / 32 / PER_METRE;
    const dy = (((packed >> 6) & 31) + 0.5) / 32 / PER_METRE;
    const turn = ((packed & 63) + 0.5) / 64 - angle / TURN;
    return [dx, dy, (modulo(turn + 0.5, 1) - 0.5) * TURN];
  }

  /** Takes back a hit and what it marked, unless other hits mark that, too. */
  forgetHit(c, w) {
    this.cells[cellAt(c, w)] &= ~HIT;
    around(c, w, WALLS, (at) => (this.cells[at] &= HIT | BUMP | FREE));
    around(c, w, 2 * WALLS, (at, cx, cy) => {
      if (this.cells[at] & HIT) this.markAround(cx, cy);
    });
  }

  markAround(c, w) {
    around(c, w, WALLS, (at, cx, cy) => {
      const far = Math.max(Math.abs(cx - c), Math.abs(cy - w));
      this.cells[at] |= WALL | (far <= BESIDES ? BESIDE : 0) | (far <= 1 ? NEAR : 0);
    });
  }

  /** Marks the cells in which rays have ended, and those around them. */
  mapRays(x0, y0, rays, rayAngle, rayLength) {
    const step = TURN / rays.length;
    for (let r = 0; r < rays.length; r++) {
      if (rays[r] >= rayLength - 1e-4) continue;
      const angle = rayAngle + step * r;
      const x = x0 + Math.cos(angle) * (rays[r] + 0.02);
      const y = y0 + Math.sin(angle) * (rays[r] + 0.02);
      const c = Math.floor(x * PER_METRE);
      const w = Math.floor(y * PER_METRE);
      const at = cellAt(c, w);
      this.spots[at] = packedSpot(x, y, angle);
      if (this.cells[at] & HIT) continue;
      this.cells[at] |= HIT;
      this.markAround(c, w);
    }
  }

  /** Blocks a cell ahead of a body that is stuck; whether it did. */
  mapBump(x, y, goal, waypoint, found) {
    if (!(Math.hypot(x - this.rest[0], y - this.rest[1]) <= MOVED)) {
      this.rest = [x, y];
      this.still = 0;
      return false;
    }
    this.still += 1;
    const away = Math.hypot(goal[0] - x, goal[1] - y);
    if (this.still < STUCK || away < AT_GOAL || !found) return false;
    this.still = 0;
    const px = Math.floor(x * PER_METRE);
    const py = Math.floor(y * PER_METRE);
    const dx = Math.floor(waypoint[0] * PER_METRE) - px;
    const dy = Math.floor(waypoint[1] * PER_METRE) - py;
    const far = Math.max(Math.abs(dx), Math.abs(dy), BUMPED);
    const at = cellAt(px + roundEven((dx * BUMPED) / far), py + roundEven((dy * BUMPED) / far));
    this.cells[at] |= BUMP;
    return true;
  }

  /** Opens the cells that were bumped into; whether there were any. */
  forgetBumps() {
    let any = false;
    for (let at = 0; at < this.cells.length; at++) {
      if (this.cells[at] & BUMP) {
        this.cells[at] &= ~BUMP;
        any = true;
      }
    }
    return any;
  }

  /** Distance to the nearest hit in each of `sectors`, the first ahead, at most `farthest`. */
  nearest(x, y, yaw, sectors, farthest) {
    const out = new Float64Array(sectors).fill(farthest);
    const px = Math.floor(x * PER_METRE);
    const py = Math.floor(y * PER_METRE);
    around(px, py, Math.trunc(farthest * PER_METRE) + 1, (at, c, w) => {
      if (!(this.cells[at] & HIT)) return;
      const [sx, sy] = this.spot(at, 0);
      const dx = sx + c / PER_METRE - x;
      const dy = sy + w / PER_METRE - y;
      const turn = (Math.atan2(dy, dx) - yaw) / TURN;
      const sector = modulo(Math.floor(turn * sectors + 0.5), sectors);
      out[sector] = Math.min(out[sector], Math.hypot(dx, dy));
    });
    return out;
  }
}

/** Calls `visit(index, column, row)` for the cells within `reach` of (c, w), row by row. */
function around(c, w, reach, visit) {
  for (let cy = w - reach; cy <= w + reach; cy++) {
    for (let cx = c - reach; cx <= c + reach; cx++) visit(cellAt(cx, cy), cx, cy);
  }
}

/** Whether a spot beside ray r is on the line from its end to that of its neighbour there. */
function ofTheWall(rays, r, along, left) {
  const side = left > 0 ? 1 : -1;
  const step = TURN / rays.length;
  const reading = rays[modulo(r + side, rays.length)];
  const endAlong = reading * Math.cos(step);
  const endLeft = reading * Math.sin(step) * side;
  const dx = rays[r] - endAlong;
  const dy = -endLeft;
  const area = Math.abs(dx * (left - endLeft) - dy * (along - endAlong));
  return area < SAME_WALL * Math.hypot(dx, dy);
}

function packedSpot(x, y, angle) {
  const a = Math.trunc(modulo(x * PER_METRE, 1) * 32);
  const b = Math.trunc(modulo(y * PER_METRE, 1) * 32);
  const turn = Math.trunc(modulo(angle / TURN, 1) * 64);
  return (Math.min(a, 31) << 11) | (Math.min(b, 31) << 6) | Math.min(turn, 63);
}
