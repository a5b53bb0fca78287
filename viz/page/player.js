// The player: recorded episodes of anything, frame by frame.

import { Bars } from "./bars.js";
import { BodyView, LinesView, meshOf } from "./body_view.js";
import { bytesOf, floatsOf, jsonOf } from "./data.js";
import { Clock, element, fillSelect, show, start } from "./panel.js";
import { Stage, THREE } from "./stage.js";

/** The recording of a page; see viz/page/recording.py. */
async function loadRecording() {
  const header = await jsonOf("recording.header");
  const arrays = {};
  for (const name of Object.keys(header.widths)) {
    arrays[name] = name === "lines"
      ? new Int16Array((await bytesOf("recording.lines")).buffer) : await floatsOf(`recording.${name}`);
  }
  return { header, arrays };
}

class Player {
  constructor({ header, arrays }) {
    this.header = header;
    this.arrays = arrays;
    this.stage = new Stage(element("stage"), header.picture);
    if (header.scenes.some(({ view }) => !view)) this.stage.addFloor(200);
    this.standing = new THREE.Group();
    this.stage.scene.add(this.standing);
    this.body = new BodyView(this.stage, header.shapes, header.widths.poses / 7);
    if (arrays.lines) {
      this.lines = new LinesView(this.stage, header.widths.values, header.linePoints, header.colours);
    }
    this.bars = new Bars(element("bars"), header.bars);
    header.readouts.forEach(({ name }, k) => {
      const [term, value] = ["dt", "dd"].map((tag) => document.createElement(tag));
      term.textContent = name;
      value.id = `readout-${k}`;
      element("state").append(term, value);
    });
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
    return this.header.scenes[Number(element("scene").value)];
  }

  choose() {
    const { about, count, standing, view } = this.scene;
    element("time-slider").max = String(count - 1);
    this.standing.clear();
    if (standing.length) this.standing.add(...standing.map(meshOf));
    this.stage.followed = null;
    this.go(0);
    const [x, y] = this.row("poses");
    const beside = this.header.camera.map(([ahead, left, up]) => [x + ahead, y + left, up]);
    this.stage.look(...(view ?? beside));
    show({ message: about });
  }

  /** Numbers of an array in a frame of the scene. */
  row(name, index = this.index) {
    const width = this.header.widths[name];
    const first = (this.scene.first + index) * width;
    return this.arrays[name].subarray(first, first + width);
  }

  go(index) {
    this.before = index;
    this.show(index);
  }

  /** The next frame; false after the last one. */
  step() {
    if (this.index + 1 >= this.scene.count) {
      this.go(0);
      return true;
    }
    this.before = this.index;
    this.show(this.index + 1);
    return this.index + 1 < this.scene.count || !this.scene.view;
  }

  show(index) {
    this.index = index;
    element("time-slider").value = String(index);
    this.bars.draw(Array.from(this.row("bars")));
    const numbers = this.row("readouts");
    const texts = this.header.readouts.map(({ unit, digits }, k) => [
      `readout-${k}`, `${numbers[k].toFixed(digits)} ${unit}`.trim(),
    ]);
    show({ time: `${(index * this.header.dt).toFixed(2)} s`, ...Object.fromEntries(texts) });
  }

  draw(part) {
    this.body.pose(this.row("poses", this.before), this.row("poses"), part);
    const { x, y, z } = this.body.bodies[0].position;
    if (this.lines) this.lines.set(this.row("lines"), [x, y, z], this.row("values"));
    if (!this.scene.view) this.stage.follow([x, y, 0]);
  }

  run() {
    this.stage.run((seconds) => this.draw(this.clock.advance(seconds)));
  }
}

start(async () => {
  const page = new Player(await loadRecording());
  page.run();
  globalThis.ambulo = { page };
});
