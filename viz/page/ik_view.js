// How the body and its targets are drawn and dragged.

import { COLOURS, THREE, material } from "./stage.js";

const BONE_WIDTH = 0.035;
const HEAD = 0.1;
const BALL = 0.055;
const UP = new THREE.Vector3(0, 1, 0);

export class IkView {
  constructor(stage, rig) {
    this.stage = stage;
    this.rig = rig;
    const skin = material(0x6b9bd2);
    this.bones = rig.parents.map((parent) => {
      const bone = new THREE.Mesh(new THREE.CylinderGeometry(BONE_WIDTH, BONE_WIDTH, 1, 12), skin);
      bone.visible = parent >= 0;
      return bone;
    });
    this.joints = rig.parents.map(() => new THREE.Mesh(new THREE.SphereGeometry(1.25 * BONE_WIDTH, 16, 12), skin));
    this.head = new THREE.Mesh(new THREE.SphereGeometry(HEAD, 20, 16), skin);
    this.balls = rig.targets.map(() => new THREE.Mesh(
      new THREE.SphereGeometry(BALL, 20, 14), material(COLOURS.ball, { transparent: true, opacity: 0.85 }),
    ));
    stage.scene.add(...this.bones, ...this.joints, this.head, ...this.balls);
  }

  /** Marks the chosen target. */
  choose(k) {
    this.balls.forEach((ball, j) => ball.material.color.set(j === k ? 0xd1242f : COLOURS.ball));
  }

  /** Calls `moved(target, place)` while a ball is dragged in the plane of the screen. */
  onDrag(moved) {
    const canvas = this.stage.renderer.domElement;
    const { camera, controls } = this.stage;
    const caster = new THREE.Raycaster();
    const plane = new THREE.Plane();
    let dragged = -1;
    const aim = (event) => {
      const box = canvas.getBoundingClientRect();
      caster.setFromCamera(new THREE.Vector2(
        (2 * (event.clientX - box.left)) / box.width - 1,
        1 - (2 * (event.clientY - box.top)) / box.height,
      ), camera);
    };
    canvas.addEventListener("pointerdown", (event) => {
      aim(event);
      const [hit] = caster.intersectObjects(this.balls);
      if (!hit) return;
      dragged = this.balls.indexOf(hit.object);
      plane.setFromNormalAndCoplanarPoint(camera.getWorldDirection(new THREE.Vector3()), hit.object.position);
      controls.enabled = false;
      event.stopImmediatePropagation();
      canvas.setPointerCapture(event.pointerId);
    }, { capture: true });
    canvas.addEventListener("pointermove", (event) => {
      if (dragged < 0) return;
      aim(event);
      const place = caster.ray.intersectPlane(plane, new THREE.Vector3());
      if (place) moved(dragged, [place.x, place.y, Math.max(place.z, 0)]);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, () => {
        dragged = -1;
        controls.enabled = true;
      });
    }
  }

  draw({ positions, orientations }, places, weights) {
    const points = positions.map((p) => new THREE.Vector3(...p));
    this.rig.parents.forEach((parent, j) => {
      this.joints[j].position.copy(points[j]);
      if (parent < 0) return;
      const along = points[j].clone().sub(points[parent]);
      const length = along.length();
      this.bones[j].visible = length > 1e-6;
      if (length <= 1e-6) return;
      this.bones[j].position.copy(points[parent]).addScaledVector(along, 0.5);
      this.bones[j].scale.set(1, length, 1);
      this.bones[j].quaternion.setFromUnitVectors(UP, along.normalize());
    });
    const head = this.rig.targets.findIndex(({ name }) => name === "Head");
    const { joint } = this.rig.targets[head];
    const [w, x, y, z] = orientations[joint];
    const up = new THREE.Vector3(0, 0.09, 0).applyQuaternion(new THREE.Quaternion(x, y, z, w));
    this.head.position.copy(points[joint]).add(up);
    this.balls.forEach((ball, k) => {
      ball.position.set(...places[k]);
      ball.visible = weights[k] > 0;
    });
  }
}
