// Parts that the pages share: finding controls, playing on a clock, and saying what went wrong.

/** The element with this id. */
export const element = (id) => document.getElementById(id);

/** Fills a `<select>` with [value, text] rows. */
export function fillSelect(select, rows) {
  select.replaceChildren(...rows.map(([value, text]) => new Option(text, value)));
}

/** Writes numbers into the elements whose ids are the keys of `values`. */
export function show(values) {
  for (const [id, text] of Object.entries(values)) {
    const node = element(id);
    if (node.textContent !== text) node.textContent = text;
  }
}

/** Runs a step of fixed length as time goes by; "Play", "Step" and "Speed" of the page. */
export class Clock {
  /** `step()` is one step of `seconds()`; it returns false when there is nothing to go on with. */
  constructor(step, seconds) {
    this.step = step;
    this.seconds = seconds;
    this.left = 0;
    this.playing = false;
    element("play").addEventListener("click", () => this.set(!this.playing));
    element("step").addEventListener("click", () => {
      this.set(false);
      this.step();
    });
    element("speed").addEventListener("input", () => {
      show({ "speed-value": `${element("speed").value}×` });
    });
    element("step").disabled = false;
    element("play").disabled = false;
  }

  set(playing) {
    this.playing = playing;
    this.left = 0;
    element("play").textContent = playing ? "Pause" : "Play";
  }

  /** Goes on by `seconds` of real time; the part of a step that is left over, in [0, 1). */
  advance(seconds) {
    if (!this.playing) return 1;
    this.left += seconds * Number(element("speed").value);
    while (this.playing && this.left >= this.seconds()) {
      this.left -= this.seconds();
      if (this.step() === false) this.set(false);
    }
    return this.left / this.seconds();
  }
}

/** Starts a page; an error is shown in the page; the console is rarely open. */
export async function start(main) {
  try {
    await main();
    document.body.dataset.ready = "true";
    document.body.dataset.loadMs = String(Math.round(performance.now()));
  } catch (error) {
    const webgl = /WebGL/.test(String(error)) ? " This page needs a browser with WebGL." : "";
    show({ message: `This page could not start: ${error.message}.${webgl}` });
    document.body.dataset.ready = "failed";
    throw error;
  }
}
