// Bars of numbers in [-1, 1] on a canvas: the policy's action now.

export class Bars {
  constructor(canvas, names) {
    this.canvas = canvas;
    this.names = names;
  }

  draw(values) {
    const { canvas } = this;
    const ratio = globalThis.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.strokeStyle = "#d0d7de";
    context.beginPath();
    context.moveTo(0, height / 2);
    context.lineTo(width, height / 2);
    context.stroke();
    const step = width / values.length;
    context.fillStyle = "#1f6feb";
    values.forEach((value, k) => {
      const tall = (value * height) / 2;
      context.fillRect(k * step + 0.15 * step, height / 2 - Math.max(tall, 0), 0.7 * step, Math.abs(tall));
    });
    const largest = values.reduce((best, value, k) => (Math.abs(value) > Math.abs(values[best]) ? k : best), 0);
    canvas.setAttribute("aria-label",
      `Actions of ${values.length} joint axes; largest: ${this.names[largest]} ${values[largest].toFixed(2)}`);
  }
}
