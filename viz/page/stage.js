// What all pages draw on: a three.js scene with Z up, a camera to turn around, and lights.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

export const COLOURS = { background: 0xf3f5f7, ball: 0xd29922 };

export class Stage {
  /** Fills the element `holder` with a picture named `label` for those who cannot see it. */
  constructor(holder, label) {
    this.holder = holder;
    this.renderer = new THREE.WebGLRenderer({ antialias: true });
    this.renderer.setPixelRatio(Math.min(globalThis.devicePixelRatio, 2));
    const canvas = this.renderer.domElement;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    holder.replaceChildren(canvas);
    this.scene = new THREE.Scene();
    this.scene.background = new THREE.Color(COLOURS.background);
    this.camera = new THREE.PerspectiveCamera(45, 1, 0.05, 300);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.maxPolarAngle = 0.49 * Math.PI;
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8b949e, 2.2));
    const sun = new THREE.DirectionalLight(0xffffff, 1.6);
    sun.position.set(-4, -6, 12);
    this.scene.add(sun);
    new ResizeObserver(() => this.fit()).observe(holder);
    this.fit();
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (!width || !height) return;
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
  }

  /** Looks at `target` from `eye`, points of the world. */
  look(eye, target) {
    this.camera.position.set(...eye);
    this.controls.target.set(...target);
    this.controls.update();
  }

  /** Moves camera and target by as much as `point` has moved since the last call. */
  follow(point) {
    if (this.followed) {
      const move = new THREE.Vector3(...point).sub(this.followed);
      this.camera.position.add(move);
      this.controls.target.add(move);
    }
    this.followed = new THREE.Vector3(...point);
  }

  /** Adds a floor of `size` x `size` squares of 1 m around the origin. */
  addFloor(size) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 128;
    const context = tile.getContext("2d");
    context.fillStyle = "#eceff2";
    context.fillRect(0, 0, 128, 128);
    context.fillStyle = "#dbe1e7";
    context.fillRect(0, 0, 64, 64);
    context.fillRect(64, 64, 64, 64);
    const texture = new THREE.CanvasTexture(tile);
    texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
    texture.repeat.set(size / 2, size / 2);
    texture.anisotropy = 8;
    texture.colorSpace = THREE.SRGBColorSpace;
    const floor = new THREE.Mesh(
      new THREE.PlaneGeometry(size, size), new THREE.MeshBasicMaterial({ map: texture }),
    );
    floor.position.z = -0.002;
    this.scene.add(floor);
  }

  /** Calls `frame(seconds since the last picture)` before each picture, and draws. */
  run(frame) {
    let last = performance.now();
    const draw = (now) => {
      const seconds = Math.min((now - last) / 1000, 0.25);
      last = now;
      frame(seconds);
      this.controls.update();
      this.renderer.render(this.scene, this.camera);
      requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
  }
}

export const material = (colour, more = {}) =>
  new THREE.MeshStandardMaterial({ color: colour, roughness: 0.8, ...more });

export { THREE };
