// How the navigator and its level are drawn.

import { COLOURS, THREE, material, polyline } from "./stage.js";
import { PER_METRE } from "./nav_columns.js";

const TALLEST = 1.6;
const TRAIL = 2000;
const RADIUS = 0.25;

export class NavView {
  constructor(stage) {
    this.stage = stage;
    this.level = new THREE.Group();
    this.body = bodyMesh();
    this.goal = goalMesh();
    this.rays = polyline(COLOURS.ray, 128, true);
    this.plan = polyline(COLOURS.plan, 301);
    this.trail = polyline(COLOURS.trail, TRAIL);
    this.memory = new THREE.InstancedMesh(
      new THREE.PlaneGeometry(0.9 / PER_METRE, 0.9 / PER_METRE),
      new THREE.MeshBasicMaterial({ color: COLOURS.plan, transparent: true, opacity: 0.55 }),
      8000,
    );
    this.memory.frustumCulled = false;
    stage.scene.add(this.level, this.body, this.goal, this.rays, this.plan, this.trail, this.memory);
  }

  /** Calls `pick(x, y)` for a click on the floor that does not turn the camera. */
  onPick(pick) {
    const canvas = this.stage.renderer.domElement;
    let pressed = null;
    canvas.addEventListener("pointerdown", (event) => {
      pressed = [event.clientX, event.clientY];
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) return;
      const point = this.floorPoint(event);
      if (point) pick(point.x, point.y);
    });
  }

  floorPoint(event) {
    const box = this.stage.renderer.domElement.getBoundingClientRect();
    const at = new THREE.Vector2(
      (2 * (event.clientX - box.left)) / box.width - 1,
      1 - (2 * (event.clientY - box.top)) / box.height,
    );
    const caster = new THREE.Raycaster();
    caster.setFromCamera(at, this.stage.camera);
    return caster.ray.intersectPlane(new THREE.Plane(new THREE.Vector3(0, 0, 1), 0), new THREE.Vector3());
  }

  /** Draws a level and looks at all of it from above. */
  showLevel(level) {
    this.level.clear();
    const [x0, y0, x1, y1] = level.bounds;
    this.level.add(floorMesh(level));
    for (const { center: c, half_size: h, yaw = 0 } of level.boxes || []) {
      const top = Math.min(c[2] + h[2], TALLEST);
      const bottom = Math.max(c[2] - h[2], 0);
      if (top <= bottom) continue;
      const colour = c[2] + h[2] >= TALLEST ? COLOURS.wall : COLOURS.low;
      const mesh = new THREE.Mesh(new THREE.BoxGeometry(2 * h[0], 2 * h[1], top - bottom), material(colour));
      mesh.position.set(c[0], c[1], 0.5 * (top + bottom));
      mesh.rotation.z = yaw;
      this.level.add(mesh);
    }
    for (const { center: c, radius, height } of level.cylinders || []) {
      const tall = Math.min(height, TALLEST);
      const mesh = new THREE.Mesh(new THREE.CylinderGeometry(radius, radius, tall, 24), material(COLOURS.low));
      mesh.rotation.x = Math.PI / 2;
      mesh.position.set(c[0], c[1], (c[2] || 0) + tall / 2);
      this.level.add(mesh);
    }
    const middle = [0.5 * (x0 + x1), 0.5 * (y0 + y1), 0];
    const { camera } = this.stage;
    const tan = Math.tan((camera.fov * Math.PI) / 360);
    const far = 0.62 * Math.max((y1 - y0) / tan, (x1 - x0) / tan / camera.aspect);
    this.stage.look([middle[0], middle[1] - 0.45 * far, 0.9 * far], middle);
  }

  begin(episode) {
    this.past = null;
    this.walked = [];
    this.goal.position.set(episode.goal[0], episode.goal[1], 0);
    const radius = episode.policy.header.episode.goal_radius;
    this.goal.userData.ring.scale.setScalar(radius);
  }

  /** Keeps the pose before a decision, from which the picture moves on. */
  remember({ state }) {
    this.past = [state.x, state.y, state.z, state.yaw];
    this.walked.push([state.x, state.y, 0.03]);
  }

  draw(episode, part, layers) {
    const { state } = episode;
    const now = [state.x, state.y, state.z, state.yaw];
    const before = this.past ?? now;
    const [x, y, z, yaw] = now.map((value, k) => before[k] + part * (value - before[k]));
    this.body.position.set(x, y, z);
    this.body.rotation.z = yaw;
    this.trail.set([...this.walked, [x, y, 0.03]]);
    this.rays.visible = layers.rays;
    this.plan.visible = layers.plan;
    this.memory.visible = layers.memory;
    const step = (2 * Math.PI) / state.rays.length;
    this.rays.set(Array.from(state.rays).flatMap((length, k) => {
      const angle = yaw + k * step;
      return [[x, y, 0.5], [x + Math.cos(angle) * length, y + Math.sin(angle) * length, 0.5]];
    }));
    const { planner } = episode.memory;
    this.plan.set([[x, y], ...planner.ahead({ x, y }).slice(1)].map(([px, py]) => [px, py, 0.08]));
    if (layers.memory) this.drawMemory(episode);
  }

  /** Marks the cells that are remembered as closed. */
  drawMemory({ memory, state }) {
    const place = new THREE.Matrix4();
    const cells = memory.planner.columns.closed(state.x, state.y);
    this.memory.count = Math.min(cells.length, this.memory.instanceMatrix.count);
    for (let k = 0; k < this.memory.count; k++) {
      this.memory.setMatrixAt(k, place.setPosition(...cells[k], TALLEST + 0.02));
    }
    this.memory.instanceMatrix.needsUpdate = true;
  }
}

function floorMesh({ bounds: [x0, y0, x1, y1], holes = [] }) {
  const shape = new THREE.Shape([[x0, y0], [x1, y0], [x1, y1], [x0, y1]].map((p) => new THREE.Vector2(...p)));
  for (const [a, b, c, d] of holes) {
    const hole = [[a, b], [a, d], [c, d], [c, b]].map(([x, y]) => new THREE.Vector2(
      Math.min(Math.max(x, x0), x1), Math.min(Math.max(y, y0), y1),
    ));
    shape.holes.push(new THREE.Path(hole));
  }
  return new THREE.Mesh(new THREE.ShapeGeometry(shape), material(0xffffff, { side: THREE.DoubleSide }));
}

function bodyMesh() {
  const group = new THREE.Group();
  const trunk = new THREE.Mesh(new THREE.CapsuleGeometry(RADIUS, 1.25, 6, 20), material(COLOURS.body));
  trunk.rotation.x = Math.PI / 2;
  trunk.position.z = 0.875;
  const nose = new THREE.Mesh(new THREE.ConeGeometry(0.14, 0.4, 16), material(0xffffff));
  nose.rotation.z = -Math.PI / 2;
  nose.position.set(0.28, 0, 1.6);
  group.add(trunk, nose);
  return group;
}

function goalMesh() {
  const group = new THREE.Group();
  const ring = new THREE.Mesh(
    new THREE.RingGeometry(0.9, 1, 48),
    new THREE.MeshBasicMaterial({ color: COLOURS.goal, side: THREE.DoubleSide }),
  );
  ring.position.z = 0.03;
  const pole = new THREE.Mesh(new THREE.CylinderGeometry(0.05, 0.05, 2.4, 12), material(COLOURS.goal));
  pole.rotation.x = Math.PI / 2;
  pole.position.z = 1.2;
  const ball = new THREE.Mesh(new THREE.SphereGeometry(0.22, 20, 14), material(COLOURS.goal));
  ball.position.z = 2.4;
  group.userData.ring = ring;
  group.add(ring, pole, ball);
  return group;
}
