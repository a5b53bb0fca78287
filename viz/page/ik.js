// The page of inverse kinematics: six targets to drag, and the network that poses a body.

import { floatsOf, jsonOf } from "./data.js";
import { PoseNetwork } from "./ik_network.js";
import { forwardKinematics } from "./ik_pose.js";
import { IkView } from "./ik_view.js";
import { element, fillSelect, show, start } from "./panel.js";
import { Stage } from "./stage.js";

const AXES = ["x", "y", "z"];
const LABELS = {
  LeftHand: "left hand", RightHand: "right hand", LeftFoot: "left foot",
  RightFoot: "right foot", Head: "head", Hips: "hips",
};

class IkPage {
  constructor(rig, network) {
    this.rig = rig;
    this.network = network;
    this.stage = new Stage(element("stage"), "A body with six targets to drag: hands, feet, head and hips");
    this.stage.addFloor(40);
    this.stage.look([3.0, -1.6, 1.5], [0, 0, 0.85]);
    this.view = new IkView(this.stage, rig);
    this.view.onDrag((k, place) => this.move(k, place));
    fillSelect(element("target"), rig.targets.map(({ name }, k) => [k, LABELS[name]]));
    element("target").addEventListener("change", () => this.choose(this.chosen));
    for (const axis of AXES) element(axis).addEventListener("input", () => this.readSliders());
    element("on").addEventListener("change", () => {
      this.weights[this.chosen] = element("on").checked ? 1 : 0;
      this.solve();
    });
    element("turned").addEventListener("change", () => this.solve());
    element("reset").addEventListener("click", () => this.reset());
    this.reset();
  }

  get chosen() {
    return Number(element("target").value);
  }

  /** Puts all targets back to the starting pose. */
  reset() {
    this.places = this.rig.targets.map(({ position }) => [...position]);
    this.weights = this.places.map(() => 1);
    element("turned").checked = false;
    this.choose(0);
    this.solve();
    show({ message: "Drag a coloured ball, or choose a target and use the sliders." });
  }

  choose(k) {
    element("target").value = String(k);
    element("on").checked = this.weights[k] > 0;
    AXES.forEach((axis, i) => {
      element(axis).value = String(this.places[k][i]);
    });
    this.view.choose(k);
    this.showSliders();
  }

  showSliders() {
    show(Object.fromEntries(AXES.map((axis) => [`${axis}-value`, `${Number(element(axis).value).toFixed(2)} m`])));
  }

  readSliders() {
    this.places[this.chosen] = AXES.map((axis) => Number(element(axis).value));
    this.showSliders();
    this.solve();
  }

  move(k, place) {
    this.places[k] = place;
    this.choose(k);
    this.solve();
  }

  /** Poses the body, and shows how far the worst target is missed. */
  solve() {
    const begun = performance.now();
    const pose = this.poseOf(this.targets());
    this.pose = forwardKinematics(this.rig, pose.root, pose.rotations);
    const misses = this.rig.targets.map(({ joint }, k) => (this.weights[k]
      ? Math.hypot(...this.places[k].map((x, axis) => x - this.pose.positions[joint][axis])) : 0));
    show({
      miss: `${(100 * Math.max(...misses)).toFixed(1)} cm`,
      "solve-time": `${(performance.now() - begun).toFixed(1)} ms`,
    });
  }

  /** What the network is given. */
  targets() {
    const turns = element("turned").checked ? 1 : 0;
    return {
      positions: this.places,
      rotations: this.rig.targets.map(({ rotation }) => rotation),
      weights: this.weights,
      turns: this.weights.map((weight) => weight * turns),
    };
  }

  /** Root position and local rotations for targets. */
  poseOf(targets) {
    return this.network.pose(targets);
  }

  run() {
    this.stage.run(() => {
      if (this.pose) this.view.draw(this.pose, this.places, this.weights);
    });
  }
}

start(async () => {
  const network = new PoseNetwork(await jsonOf("network.header"), await floatsOf("network.weights"));
  const page = new IkPage(await jsonOf("ik.rig"), network);
  page.run();
  globalThis.ambulo = { page, forwardKinematics };
});
