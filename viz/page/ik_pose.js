// Forward kinematics of a rig, and turns of its targets. Quaternions are wxyz.

/** The product of two quaternions. */
export function product([a, b, c, d], [e, f, g, h]) {
  return [
    a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
    a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e,
  ];
}

/** `vector` turned by the quaternion `q`. */
export function turned([w, x, y, z], [u, v, k]) {
  const tx = 2 * (y * k - z * v);
  const ty = 2 * (z * u - x * k);
  const tz = 2 * (x * v - y * u);
  return [u + w * tx + y * tz - z * ty, v + w * ty + z * tx - x * tz, k + w * tz + x * ty - y * tx];
}

/** World positions and orientations of all joints; as motion/fk_kernel.py has it. */
export function forwardKinematics({ parents, offsets, rest }, root, rotations) {
  const positions = [];
  const orientations = [];
  parents.forEach((parent, j) => {
    const local = product(rest[j], rotations[j]);
    if (parent < 0) {
      positions.push(root);
      orientations.push(local);
      return;
    }
    const move = turned(orientations[parent], offsets[j]);
    positions.push(positions[parent].map((x, axis) => x + move[axis]));
    orientations.push(product(orientations[parent], local));
  });
  return { positions, orientations };
}
