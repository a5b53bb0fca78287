// Pages of walkers: recorded states of the body; the policy runs in the page on what the body
// observed, and is compared with what it did when the states were recorded.

import { Bars } from "./bars.js";
import { BodyView, MuscleView } from "./body_view.js";
import { bytesOf, floatsOf, jsonOf } from "./data.js";
import { Clock, element, fillSelect, show } from "./panel.js";
import { WalkerPolicy } from "./policy_file.js";
import { Stage } from "./stage.js";

/** What a page of a walker holds. */
export async function loadRecording() {
  const header = await jsonOf("walker.header");
  const recording = {
    header,
    poses: await floatsOf("walker.poses"),
    observations: await floatsOf("walker.observations"),
    actions: await floatsOf("walker.actions"),
    speeds: await floatsOf("walker.speeds"),
    policy: new WalkerPolicy(await jsonOf("network.header"), await floatsOf("network.weights")),
  };
  if (header.muscles) {
    recording.paths = new Int16Array((await bytesOf("walker.paths")).buffer);
    recording.activations = await floatsOf("walker.activations");
  }
  return recording;
}

export class WalkerPage {
  constructor(recording) {
    this.recording = recording;
    const { header } = recording;
    this.stage = new Stage(element("stage"), header.picture);
    this.stage.addFloor(200);
    this.body = new BodyView(this.stage, header.geoms, header.bodies);
    if (header.muscles) {
      this.muscles = new MuscleView(this.stage, header.muscles.length, header.path_points);
    }
    this.bars = new Bars(element("bars"), header.action_names);
    this.clock = new Clock(() => this.step(), () => header.dt);
    fillSelect(element("scene"), header.scenes.map(({ name }, k) => [k, name]));
    element("scene").addEventListener("change", () => this.choose());
    element("restart").addEventListener("click", () => this.go(0));
    element("time-slider").addEventListener("input", () => {
      this.clock.set(false);
      this.go(Number(element("time-slider").value));
    });
    this.choose();
  }

  get scene() {
    return this.recording.header.scenes[Number(element("scene").value)];
  }

  choose() {
    element("time-slider").max = String(this.scene.count - 1);
    this.stage.followed = null;
    this.go(0);
    const [x, y] = this.row("poses", this.recording.header.root).slice(0, 2);
    this.stage.look([x + 1.2, y - 3.4, 1.6], [x, y, 0.85]);
    show({ message: this.scene.about });
  }

  /** Numbers of an array in this frame; `part` picks seven of a body's pose. */
  row(name, part = null, index = this.index) {
    const { [name]: array, header } = this.recording;
    const width = header.widths[name];
    const start = (this.scene.first + index) * width;
    return part === null
      ? array.subarray(start, start + width)
      : array.subarray(start + 7 * part, start + 7 * part + 7);
  }

  go(index) {
    this.before = index;
    this.index = index;
    this.decide();
  }

  step() {
    if (this.index + 1 >= this.scene.count) {
      this.go(0);
      return true;
    }
    this.before = this.index;
    this.index += 1;
    this.decide();
    return true;
  }

  /** Runs the policy on this frame's observation. */
  decide() {
    element("time-slider").value = String(this.index);
    const action = this.recording.policy.act(this.row("observations"));
    const recorded = this.row("actions");
    const off = action.reduce((most, value, k) => Math.max(most, Math.abs(value - recorded[k])), 0);
    this.bars.draw(action);
    show({
      time: `${(this.index * this.recording.header.dt).toFixed(2)} s`,
      difference: off.toExponential(1),
    });
  }

  draw(part) {
    const before = this.row("poses", null, this.before);
    this.body.pose(before, this.row("poses"), part);
    const root = this.row("poses", this.recording.header.root);
    if (this.muscles) {
      this.muscles.set(this.row("paths"), root.subarray(0, 3), this.row("activations"));
    }
    this.stage.follow([root[0], root[1], 0]);
    const now = this.row("speeds");
    show({ "speed-now": `${now[0].toFixed(2)} m/s` });
  }

  run() {
    this.stage.run((seconds) => this.draw(this.clock.advance(seconds)));
  }
}
