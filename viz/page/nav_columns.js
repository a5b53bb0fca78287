// The map of the navigator in a level without storeys: what rays tell of its columns, as bits;
// the port of envs/vr/navigator/{columns,mapping}.py. It wraps around after 64 m: a window around
// the body, outside of which everything is forgotten.

import { DROP as EDGE, WALL as OBSTACLE } from "./prisms.js";

export const PER_METRE = 4;
export const SIDE = 256;
export const FREE = 1;
export const HIT = 4;
export const DROP = 8;
export const BUMP = 16;
export const TIGHT = 32;
export const NEAR = 64;
export const WALL = 128;
export const CLOSED = HIT | DROP | BUMP;
const BIT_OF = { [OBSTACLE]: HIT, [EDGE]: DROP };
const WRAP = SIDE - 1;
const TIGHT_GAP = 0.27;
const NEAR_GAP = 0.47;
const BESIDE = 2;
const WALLS = 6;
const SPACING = 0.125;
const BEFORE = 0.05;
const BEHIND = 0.02;
const JOIN = [0.25, 0.56];

/** Index of the cell of a coordinate [m], not yet wrapped. */
export const cell = (v) => Math.floor(v * PER_METRE);
/** Coordinate of the middle of cell `i`, [m]. */
export const centre = (i) => (i + 0.5) / PER_METRE;
/** Cell `i` of those that are one on the map: the one near cell `base`. */
export const unwrapped = (i, base) => base + ((i - base + SIDE / 2) & WRAP) - SIDE / 2;
/** Number of the column of cell (c, r). */
export const columnOf = (c, r) => (r & WRAP) * SIDE + (c & WRAP);

export class Columns {
  constructor() {
    /** What is known of each column, 0: nothing. */
    this.bits = new Uint8Array(SIDE * SIDE);
    /** Cells outside of which nothing is known: from and to, x and y, not wrapped. */
    this.from = [Infinity, Infinity];
    this.to = [-Infinity, -Infinity];
  }

  /** Forgets what is outside of the window around (x, y); `reach` [m] away may be written then. */
  keepAround(x, y, reach) {
    const far = Math.min(Math.trunc(reach * PER_METRE) + WALLS + 2, SIDE / 2);
    [cell(x), cell(y)].forEach((at, axis) => {
      const low = at - SIDE / 2;
      const [first, last] = [this.from[axis], this.to[axis]];
      const forget = (begin, end) => {
        for (let i = begin; i < end; i++) {
          for (let j = 0; j < SIDE; j++) this.bits[axis ? columnOf(j, i) : columnOf(i, j)] = 0;
        }
      };
      forget(first, Math.min(last + 1, low));
      forget(Math.max(first, low + SIDE), last + 1);
      this.from[axis] = Math.min(Math.max(first, low), at - far);
      this.to[axis] = Math.max(Math.min(last, low + SIDE - 1), at + far);
    });
  }

  /** Adds `bits` to what is known at (x, y). */
  add(x, y, bits) {
    this.bits[columnOf(cell(x), cell(y))] |= bits;
  }

  /** Adds an obstacle (HIT) or edge (DROP) at (x, y), and what it makes tight. */
  addHit(x, y, bit) {
    const [cx, cy] = [cell(x), cell(y)];
    const own = columnOf(cx, cy);
    // Around a known one only the exact distances are new.
    const far = this.bits[own] & bit ? BESIDE : WALLS;
    this.bits[own] |= bit;
    for (let r = cy - far; r <= cy + far; r++) {
      for (let c = cx - far; c <= cx + far; c++) {
        let bits = WALL;
        if (Math.max(Math.abs(c - cx), Math.abs(r - cy)) <= BESIDE) {
          const gap = Math.hypot(centre(c) - x, centre(r) - y);
          if (gap < TIGHT_GAP) bits |= TIGHT;
          else if (gap < NEAR_GAP) bits |= NEAR;
        }
        this.bits[columnOf(c, r)] |= bits;
      }
    }
  }

  /** Writes what the rays of a body tell, as `NavWorld` has them. */
  addRays({ x, y, rays, ends, rayAngle }) {
    const turn = (2 * Math.PI) / rays.length;
    const at = (heading, t) => [x + Math.cos(heading) * t, y + Math.sin(heading) * t];
    this.add(x, y, FREE);
    rays.forEach((ray, r) => {
      const heading = rayAngle + turn * r;
      for (let t = SPACING; t < ray - BEFORE; t += SPACING) this.add(...at(heading, t), FREE);
      if (ends[r]) this.addHit(...at(heading, ray + BEHIND), BIT_OF[ends[r]]);
    });
    // Between the ends of neighbours that are so near an obstacle is, too.
    rays.forEach((ray, r) => {
      const s = (r + 1) % rays.length;
      if (!ends[r] || ends[s] !== ends[r]) return;
      const heading = rayAngle + turn * r;
      const [x0, y0] = at(heading, ray + BEHIND);
      const [x1, y1] = at(heading + turn, rays[s] + BEHIND);
      const gap = Math.hypot(x1 - x0, y1 - y0);
      if (JOIN[0] < gap && gap < JOIN[1]) {
        this.addHit(0.5 * (x0 + x1), 0.5 * (y0 + y1), BIT_OF[ends[r]]);
      }
    });
  }

  /** Opens the columns that were bumped into; whether there were any. */
  forgetBumps() {
    let any = false;
    this.bits.forEach((bits, at) => {
      if (!(bits & BUMP)) return;
      this.bits[at] = bits & ~BUMP;
      any = true;
    });
    return any;
  }

  /** Middles of the closed columns within `reach` columns of (x, y). */
  closed(x, y, reach = SIDE / 2 - 1) {
    const [cx, cy] = [cell(x), cell(y)];
    const found = [];
    for (let r = cy - reach; r <= cy + reach; r++) {
      for (let c = cx - reach; c <= cx + reach; c++) {
        if (this.bits[columnOf(c, r)] & CLOSED) found.push([centre(c), centre(r)]);
      }
    }
    return found;
  }
}
