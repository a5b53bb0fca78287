// A simulated body: its geoms as meshes that follow recorded poses of their bodies.

import { THREE, material } from "./stage.js";

function geometryOf({ type, size, vertices, faces }) {
  if (type === "capsule") return new THREE.CapsuleGeometry(size[0], 2 * size[1], 8, 20).rotateX(Math.PI / 2);
  if (type === "sphere") return new THREE.SphereGeometry(size[0], 20, 14);
  if (type === "cylinder") return new THREE.CylinderGeometry(size[0], size[0], 2 * size[1], 32).rotateX(Math.PI / 2);
  if (type === "box") return new THREE.BoxGeometry(2 * size[0], 2 * size[1], 2 * size[2]);
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(vertices, 3));
  geometry.setIndex(faces);
  geometry.computeVertexNormals();
  return geometry;
}

/** MuJoCo's quaternions are wxyz, those of three.js xyzw. */
const quaternion = ([w, x, y, z]) => new THREE.Quaternion(x, y, z, w);

/** One shape of a recording. */
export function meshOf(shape) {
  const mesh = new THREE.Mesh(geometryOf(shape), material(shape.colour));
  mesh.position.set(...shape.pos);
  mesh.quaternion.copy(quaternion(shape.quat));
  return mesh;
}

export class BodyView {
  constructor(stage, shapes, bodies) {
    this.bodies = Array.from({ length: bodies }, () => new THREE.Group());
    stage.scene.add(...this.bodies);
    for (const shape of shapes) this.bodies[shape.body].add(meshOf(shape));
  }

  /** Poses the bodies: seven numbers each (x, y, z, quaternion wxyz), between two frames. */
  pose(before, after, part) {
    this.bodies.forEach((body, k) => {
      const [a, b] = [before.subarray(7 * k, 7 * k + 7), after.subarray(7 * k, 7 * k + 7)];
      body.position.set(a[0], a[1], a[2]).lerp(new THREE.Vector3(b[0], b[1], b[2]), part);
      body.quaternion.copy(quaternion(a.subarray(3))).slerp(quaternion(b.subarray(3)), part);
    });
  }
}

/** Lines of `points` points each, whose colours go from `low` to `high`. */
export class LinesView {
  constructor(stage, count, points, [low, high]) {
    this.count = count;
    this.points = points;
    const corners = count * (points - 1) * 2;
    this.geometry = new THREE.BufferGeometry();
    this.places = new THREE.BufferAttribute(new Float32Array(3 * corners), 3);
    this.colours = new THREE.BufferAttribute(new Float32Array(3 * corners), 3);
    this.geometry.setAttribute("position", this.places);
    this.geometry.setAttribute("color", this.colours);
    this.lines = new THREE.LineSegments(this.geometry, new THREE.LineBasicMaterial({ vertexColors: true }));
    this.lines.frustumCulled = false;
    stage.scene.add(this.lines);
    this.low = new THREE.Color(low);
    this.high = new THREE.Color(high);
  }

  /** `paths` has (count, points, 3) millimetres from `origin`; `values` are in [0, 1]. */
  set(paths, origin, values) {
    const colour = new THREE.Color();
    let at = 0;
    for (let line = 0; line < this.count; line++) {
      colour.copy(this.low).lerp(this.high, values[line]);
      for (let k = 0; k < 2 * (this.points - 1); k++, at++) {
        const point = 3 * (line * this.points + ((k + 1) >> 1));
        const place = [0, 1, 2].map((axis) => origin[axis] + paths[point + axis] / 1000);
        this.places.setXYZ(at, ...place);
        this.colours.setXYZ(at, colour.r, colour.g, colour.b);
      }
    }
    this.places.needsUpdate = true;
    this.colours.needsUpdate = true;
  }
}
