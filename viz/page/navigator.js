// The page of the navigator: its policy, its memory and its world run here.

import { bytesOf, jsonOf } from "./data.js";
import { NavEpisode } from "./nav_episode.js";
import { NavView } from "./nav_view.js";
import { Clock, element, fillSelect, show, start } from "./panel.js";
import { Policy } from "./policy_file.js";
import { nearShapes, onFloor, prismsOf } from "./prisms.js";
import { Stage } from "./stage.js";

const ROOM = 0.35;
const OUTCOMES = {
  reached: "Goal reached", fell: "Fell into a hole", timeout: "Out of time",
};

/** Whether a body has room at (x, y). */
function isFree(level, x, y) {
  const prisms = prismsOf(level);
  const near = nearShapes(x, y, ROOM, prisms);
  return onFloor(x, y, prisms) && near.boxes.length + near.cylinders.length === 0;
}

class NavigatorPage {
  constructor(policy, levels) {
    this.policy = policy;
    this.levels = levels;
    this.stage = new Stage(element("stage"), "The level from above, with the walker and its goal");
    this.view = new NavView(this.stage);
    this.clock = new Clock(() => this.step(), () => this.episode.seconds);
    fillSelect(element("level"), levels.map(({ level }, k) => [k, level.name.replaceAll("_", " ")]));
    element("level").addEventListener("change", () => this.choose());
    element("restart").addEventListener("click", () => this.begin(this.start, this.goal));
    element("new-goal").addEventListener("click", () => this.moveGoal(this.randomPlace()));
    element("comfort").addEventListener("input", () => this.setComfort());
    for (const id of ["show-rays", "show-plan", "show-memory"]) {
      element(id).addEventListener("change", () => this.draw(1));
    }
    this.view.onPick((x, y) => this.moveGoal([x, y]));
    this.choose();
  }

  /** Begins in the chosen level at its designed start. */
  choose() {
    const { level, start: pose, goal } = this.levels[Number(element("level").value)];
    this.level = level;
    this.view.showLevel(level);
    this.begin(pose, goal);
  }

  begin(pose, goal) {
    this.start = pose;
    this.goal = goal;
    const comfort = Number(element("comfort").value);
    this.episode = new NavEpisode(this.policy, this.level, pose, goal, comfort);
    this.view.begin(this.episode);
    this.clock.set(false);
    show({ message: "Ready. Play, or click on the floor to move the goal." });
    this.draw(1);
  }

  /** A new goal begins a new episode where the body is, or at the start after a fall. */
  moveGoal([x, y]) {
    if (!isFree(this.level, x, y)) {
      show({ message: "There is no room for the goal." });
      return;
    }
    const { state } = this.episode;
    const pose = state.falling ? this.start : [state.x, state.y, state.yaw];
    const playing = this.clock.playing;
    this.begin(pose, [x, y]);
    this.clock.set(playing);
  }

  randomPlace() {
    const [x0, y0, x1, y1] = this.level.bounds;
    for (;;) {
      const place = [x0 + Math.random() * (x1 - x0), y0 + Math.random() * (y1 - y0)];
      if (isFree(this.level, ...place)) return place;
    }
  }

  setComfort() {
    const comfort = Number(element("comfort").value);
    show({ "comfort-value": comfort.toFixed(2) });
    this.episode.world.comfort = comfort;
  }

  /** One decision; false once the episode is over. */
  step() {
    if (this.episode.outcome) {
      this.begin(this.start, this.goal);
      return true;
    }
    this.view.remember(this.episode);
    const outcome = this.episode.step();
    if (outcome) {
      const seconds = (this.episode.steps * this.episode.seconds).toFixed(1);
      show({ message: `${OUTCOMES[outcome]} after ${seconds} s.` });
    } else {
      show({ message: "Walking." });
    }
    return !outcome;
  }

  draw(part) {
    const { episode } = this;
    const layers = Object.fromEntries(
      ["rays", "plan", "memory"].map((name) => [name, element(`show-${name}`).checked]),
    );
    this.view.draw(episode, part, layers);
    const [strafe, ahead, turn] = episode.action ?? [0, 0, 0];
    show({
      time: `${(episode.steps * episode.seconds).toFixed(1)} s`,
      distance: `${episode.distance.toFixed(1)} m`,
      path: `${episode.path.toFixed(1)} m`,
      collisions: String(episode.collisions),
      action: `${strafe.toFixed(2)}, ${ahead.toFixed(2)}, ${turn.toFixed(2)}`,
      lost: episode.policy.lost === null ? "-" : `${Math.round(100 * episode.policy.lost)} %`,
    });
  }

  run() {
    this.stage.run((seconds) => this.draw(this.clock.advance(seconds)));
  }
}

start(async () => {
  const policy = new Policy(await bytesOf("navigator.policy"));
  const page = new NavigatorPage(policy, await jsonOf("navigator.levels"));
  page.run();
  globalThis.ambulo = { page, policy, NavEpisode };
});
