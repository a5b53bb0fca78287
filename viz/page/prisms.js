// Geometry of the navigation world in flat levels, by the rules of docs/vr_world.md:
// push-out of a disc, floor support and rays. Boxes are [x, y, a, b, cos, sin],
// cylinders [x, y, radius], holes [x0, y0, x1, y1], lengths in metres.

const SLIDE_ITERATIONS = 4;
const TOUCH_DEPTH = 1e-6;
const STUCK_DEPTH = 0.001;
const MOST_OVERLAPS = 8;
const BODY_HEIGHT = 1.75;
const STEP_HEIGHT = 0.01;
const MAX_SEAM = 0.05;
const ROUNDING = 1e-6;
const SAME_END = 0.03;
/** What ends a ray: a wall, or an edge of the floor. */
export const WALL = 1;
export const DROP = 2;

/** Prisms that obstruct a body in a flat level of the level file format. */
export function prismsOf(level) {
  const boxes = (level.boxes || [])
    .filter(({ center: c, half_size: h }) => c[2] - h[2] < BODY_HEIGHT && c[2] + h[2] > STEP_HEIGHT)
    .map(({ center: c, half_size: h, yaw = 0 }) => [
      c[0], c[1], h[0], h[1], Math.cos(yaw), Math.sin(yaw),
    ]);
  const cylinders = (level.cylinders || [])
    .filter(({ center: c, height }) => {
      const base = c[2] || 0;
      return base < BODY_HEIGHT && height + base > STEP_HEIGHT;
    })
    .map(({ center: c, radius }) => [c[0], c[1], radius]);
  return { boxes, cylinders, holes: level.holes || [], bounds: level.bounds };
}

/** Whether there is floor below (x, y). */
export function onFloor(x, y, { bounds, holes }) {
  if (x < bounds[0] || y < bounds[1] || x > bounds[2] || y > bounds[3]) return false;
  return !holes.some((h) => h[0] < x && x < h[2] && h[1] < y && y < h[3]);
}

/** Whether a seam, with floor on two opposite sides along an axis, carries a body at (x, y). */
export function onSeam(x, y, level) {
  return [[MAX_SEAM, 0], [0, MAX_SEAM]].some(
    ([dx, dy]) => onFloor(x + dx, y + dy, level) && onFloor(x - dx, y - dy, level),
  );
}

function boxDistance(x, y, box) {
  const dx = x - box[0];
  const dy = y - box[1];
  const u = Math.max(Math.abs(box[4] * dx + box[5] * dy) - box[2], 0);
  const v = Math.max(Math.abs(-box[5] * dx + box[4] * dy) - box[3], 0);
  return Math.sqrt(u * u + v * v);
}

/** The prisms that are nearer to (x, y) than `reach`. */
export function nearShapes(x, y, reach, { boxes, cylinders }) {
  return {
    boxes: boxes.filter((box) => boxDistance(x, y, box) < reach),
    cylinders: cylinders.filter(
      (c) => (x - c[0]) ** 2 + (y - c[1]) ** 2 < (reach + c[2]) ** 2,
    ),
  };
}

/** Unit vector out of a box, and the depth of the disc in it. */
function boxOverlap(x, y, box, radius) {
  const dx = x - box[0];
  const dy = y - box[1];
  const u = box[4] * dx + box[5] * dy;
  const v = -box[5] * dx + box[4] * dy;
  const du = u - Math.min(Math.max(u, -box[2]), box[2]);
  const dv = v - Math.min(Math.max(v, -box[3]), box[3]);
  const gap = Math.sqrt(du * du + dv * dv);
  if (gap >= radius) return null;
  let depth = radius - gap;
  let nu = du / gap;
  let nv = dv / gap;
  if (gap === 0) {
    const sideU = box[2] - Math.abs(u);
    const sideV = box[3] - Math.abs(v);
    const alongU = sideU < sideV;
    depth = radius + (alongU ? sideU : sideV);
    nu = alongU ? (u >= 0 ? 1 : -1) : 0;
    nv = alongU ? 0 : v >= 0 ? 1 : -1;
  }
  return [box[4] * nu - box[5] * nv, box[5] * nu + box[4] * nv, depth];
}

function cylinderOverlap(x, y, cylinder, radius) {
  const dx = x - cylinder[0];
  const dy = y - cylinder[1];
  const gap = Math.sqrt(dx * dx + dy * dy);
  const depth = cylinder[2] + radius - gap;
  if (depth <= 0) return null;
  return gap === 0 ? [1, 0, depth] : [dx / gap, dy / gap, depth];
}

function overlaps(x, y, near, radius) {
  const found = [];
  const add = (overlap) => {
    if (overlap && overlap[2] > TOUCH_DEPTH && found.length < MOST_OVERLAPS) found.push(overlap);
  };
  for (const box of near.boxes) add(boxOverlap(x, y, box, radius));
  for (const cylinder of near.cylinders) add(cylinderOverlap(x, y, cylinder, radius));
  return found;
}

/** The shortest move that undoes all overlaps, or the deepest one where there is none. */
function wayOut(found) {
  let best = Infinity;
  let way = null;
  for (let i = 0; i < found.length; i++) {
    for (let j = i; j < found.length; j++) {
      const [a, b] = [found[i], found[j]];
      let u = [a[0] * a[2], a[1] * a[2]];
      if (i !== j) {
        const det = a[0] * b[1] - a[1] * b[0];
        if (Math.abs(det) < 1e-6) continue;
        u = [(a[2] * b[1] - b[2] * a[1]) / det, (b[2] * a[0] - a[2] * b[0]) / det];
      }
      const length = u[0] * u[0] + u[1] * u[1];
      if (length >= best) continue;
      if (found.every((o) => o[0] * u[0] + o[1] * u[1] >= o[2] - 0.5 * TOUCH_DEPTH)) {
        best = length;
        way = u;
      }
    }
  }
  if (way) return way;
  const deepest = found.reduce((a, b) => (b[2] > a[2] ? b : a));
  return [deepest[0] * deepest[2], deepest[1] * deepest[2]];
}

/** (x, y) pushed out of near shapes and whether any was touched; back at (x0, y0) if stuck. */
export function slide(x0, y0, x, y, near, radius) {
  let touched = false;
  for (let pass = 0; pass < SLIDE_ITERATIONS; pass++) {
    const found = overlaps(x, y, near, radius);
    if (!found.length) return [x, y, touched];
    touched = true;
    const [ux, uy] = wayOut(found);
    x += ux;
    y += uy;
  }
  const stuck = overlaps(x, y, near, radius).some((o) => o[2] > STUCK_DEPTH);
  return stuck ? [x0, y0, true] : [x, y, true];
}

/** Where a ray enters and leaves a box, [m]; null: it passes beside it. */
function rayThrough(x, y, cx, sy, box) {
  const dx = x - box[0];
  const dy = y - box[1];
  const starts = [box[4] * dx + box[5] * dy, -box[5] * dx + box[4] * dy];
  const ways = [box[4] * cx + box[5] * sy, -box[5] * cx + box[4] * sy];
  let enter = 0;
  let leave = Infinity;
  for (let k = 0; k < 2; k++) {
    const half = box[2 + k];
    if (Math.abs(ways[k]) < 1e-12) {
      if (Math.abs(starts[k]) > half) return null;
      continue;
    }
    const t0 = (-half - starts[k]) / ways[k];
    const t1 = (half - starts[k]) / ways[k];
    enter = Math.max(enter, Math.min(t0, t1));
    leave = Math.min(leave, Math.max(t0, t1));
  }
  return enter <= leave ? [enter, leave] : null;
}

function rayBox(x, y, cx, sy, box) {
  return rayThrough(x, y, cx, sy, box)?.[0] ?? Infinity;
}

function rayCylinder(x, y, cx, sy, cylinder) {
  const dx = x - cylinder[0];
  const dy = y - cylinder[1];
  const b = dx * cx + dy * sy;
  const c = dx * dx + dy * dy - cylinder[2] * cylinder[2];
  if (c <= 0) return 0;
  const disc = b * b - c;
  return b >= 0 || disc < 0 ? Infinity : -b - Math.sqrt(disc);
}

/** Where the floor ends before `reach`: at its rim, or at a gap that is wider than a seam or
 * ends at what stands at `reach`, [m]. */
function rayEdge(x, y, cx, sy, { bounds, holes }, reach) {
  let rim = Infinity;
  if (Math.abs(cx) > 1e-12) rim = (bounds[cx > 0 ? 2 : 0] - x) / cx;
  if (Math.abs(sy) > 1e-12) rim = Math.min(rim, (bounds[sy > 0 ? 3 : 1] - y) / sy);
  const gaps = holes
    .map((h) => rayThrough(x, y, cx, sy, [
      0.5 * (h[0] + h[2]), 0.5 * (h[1] + h[3]), 0.5 * (h[2] - h[0]), 0.5 * (h[3] - h[1]), 1, 0,
    ]))
    .filter((gap) => gap && gap[1] - gap[0] > ROUNDING);
  gaps.push([Math.max(rim, 0), Infinity]);
  gaps.sort((one, other) => one[0] - other[0]);
  let [begin, end] = gaps[0];
  for (const [enter, leave] of gaps) {
    if (enter > end + ROUNDING) {
      if (end - begin > MAX_SEAM || end >= reach - ROUNDING) return begin;
      begin = enter;
    }
    end = Math.max(end, leave);
  }
  return begin;
}

/**
 * Readings of rays of a body on the floor, over the full circle, the first along `angle`, [m];
 * and what ends each: `WALL`, `DROP` or 0.
 */
export function castRays(x, y, angle, spec, level) {
  const { num_rays: count, ray_length: length } = spec;
  const out = new Float64Array(count).fill(length);
  const ends = new Uint8Array(count);
  const near = nearShapes(x, y, length, level);
  for (let r = 0; r < count; r++) {
    const heading = angle + (2 * Math.PI * r) / count;
    const cx = Math.cos(heading);
    const sy = Math.sin(heading);
    let reach = length;
    for (const box of near.boxes) reach = Math.min(reach, rayBox(x, y, cx, sy, box));
    for (const c of near.cylinders) reach = Math.min(reach, rayCylinder(x, y, cx, sy, c));
    const edge = spec.rays_see_edges ? rayEdge(x, y, cx, sy, level, reach) : Infinity;
    if (edge < reach - SAME_END) ends[r] = DROP;
    else if (reach < length) ends[r] = WALL;
    out[r] = Math.min(reach, edge);
  }
  return [out, ends];
}
