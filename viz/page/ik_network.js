// The network of inverse kinematics: targets of hands, feet, head and hips to a whole body, as
// policies/export/poses.py has it. Quaternions are wxyz.

import { product, turned } from "./ik_pose.js";

const ACTIVATIONS = {
  none: (x) => x,
  relu: (x) => Math.max(x, 0),
  tanh: Math.tanh,
  elu: (x) => (x > 0 ? x : Math.expm1(x)),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/** `input` through `layers`. */
function forward(layers, weights, input) {
  let x = input;
  for (const { inputs, outputs, weight, bias, activation } of layers) {
    const act = ACTIVATIONS[activation];
    const y = new Float64Array(outputs);
    for (let row = 0; row < outputs; row++) {
      let sum = weights[bias + row];
      const start = weight + row * inputs;
      for (let k = 0; k < inputs; k++) sum += weights[start + k] * x[k];
      y[row] = act(sum);
    }
    x = y;
  }
  return x;
}

const HEAD = 4;
const HIPS = 5;

const conjugate = ([w, x, y, z]) => [w, -x, -y, -z];
const ofYaw = (yaw) => [Math.cos(yaw / 2), 0, 0, Math.sin(yaw / 2)];
const dot = (a, b) => a.reduce((sum, x, k) => sum + x * b[k], 0);

function unit(vector) {
  const length = Math.hypot(...vector);
  return vector.map((x) => x / length);
}

/** The turn about Z of an orientation against the one at rest. */
function yawOf(turn, rest) {
  const [w, , , z] = product(turn, conjugate(rest));
  return w < 0 ? 2 * Math.atan2(-z, -w) : 2 * Math.atan2(z, w);
}

/** The first two rows of a quaternion's matrix. */
function sixOf([w, x, y, z]) {
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
    2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
  ];
}

/** The quaternion of the rotation whose first two rows are nearest to six numbers. */
function ofSix(six) {
  const first = unit(six.slice(0, 3));
  const along = dot(first, six.slice(3));
  const second = unit(six.slice(3).map((x, k) => x - along * first[k]));
  const [a, b, c] = first;
  const [d, e, f] = second;
  const [g, h, i] = [b * f - c * e, c * d - a * f, a * e - b * d];
  // The largest of the four squares, so that nothing small is divided by.
  const rows = [
    [1 + a + e + i, h - f, c - g, d - b],
    [h - f, 1 + a - e - i, d + b, c + g],
    [c - g, d + b, 1 - a + e - i, h + f],
    [d - b, c + g, h + f, 1 - a - e + i],
  ];
  const best = rows.reduce((found, row, k) => (row[k] > rows[found][found] ? k : found), 0);
  const q = unit(rows[best]);
  return q[0] < 0 ? q.map((x) => -x) : q;
}

/** Origin and yaw of the frame of the body: of the hips, else of the head, else the mean. */
function frameOf({ positions, rotations, weights, turns }, rest) {
  const given = weights.flatMap((weight, k) => (weight > 0 ? [k] : []));
  const [led] = [HIPS, HEAD].filter((k) => weights[k] > 0);
  const mean = (axis) => given.reduce((sum, k) => sum + positions[k][axis], 0) / Math.max(given.length, 1);
  const origin = led === undefined ? [mean(0), mean(1), 0] : [positions[led][0], positions[led][1], 0];
  const [facing] = [HIPS, HEAD].filter((k) => turns[k] > 0);
  if (facing !== undefined) return { origin, yaw: yawOf(rotations[facing], rest[facing]) };
  const yaws = turns.flatMap((weight, k) => (weight > 0 ? [yawOf(rotations[k], rest[k])] : []));
  const across = yaws.reduce((sum, yaw) => sum + Math.sin(yaw), 0);
  const along = yaws.reduce((sum, yaw) => sum + Math.cos(yaw), 0);
  return { origin, yaw: yaws.length ? Math.atan2(across, along) : 0 };
}

export class PoseNetwork {
  /** `header` holds layers, the mean output, and orientations of the targets at rest. */
  constructor(header, weights) {
    this.header = header;
    this.weights = weights;
  }

  /** Root position and local rotations for targets; a weight of 0 leaves one out. */
  pose(targets) {
    const { layers, mean, targetRest, rootRest } = this.header;
    const { origin, yaw } = frameOf(targets, targetRest);
    const back = ofYaw(-yaw);
    const inputs = targets.positions.flatMap((place, k) => {
      const { [k]: moved } = targets.weights;
      const { [k]: led } = targets.turns;
      const near = moved > 0 ? turned(back, place.map((x, axis) => x - origin[axis])) : [0, 0, 0];
      const six = led > 0 ? sixOf(product(back, unit(targets.rotations[k]))) : [0, 0, 0, 0, 0, 0];
      return [...near, ...six, moved, led];
    });
    const out = forward(layers, this.weights, inputs);
    const whole = Array.from(out, (x, k) => x + mean[k]);
    const rotations = [];
    for (let k = 3; k < whole.length; k += 6) rotations.push(ofSix(whole.slice(k, k + 6)));
    const turn = ofYaw(yaw);
    const hips = product(turn, product(rootRest, rotations[0]));
    rotations[0] = product(conjugate(rootRest), hips);
    const root = turned(turn, whole.slice(0, 3)).map((x, axis) => x + origin[axis]);
    return { root, rotations };
  }
}
