// A trained policy in the file of `ambulo export NAME --target godot`
// (docs/model_format.md): eight bytes, the length of a JSON header, the header, 32-bit floats.

const MAGIC = "AMBULOP1";

/** Header and weights of a file, checked for its kind and length. */
export function readPolicy(bytes) {
  const text = new TextDecoder();
  if (text.decode(bytes.subarray(0, 8)) !== MAGIC) {
    throw new Error("not a policy file of `ambulo export --target godot`");
  }
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  const header = JSON.parse(text.decode(bytes.subarray(12, 12 + size)));
  const weights = new Float32Array(bytes.slice(12 + size).buffer);
  if (weights.length !== header.weights.numbers) {
    throw new Error(`the file has ${weights.length} weights, not ${header.weights.numbers}`);
  }
  if (header.output !== "clip" || header.layers.some((layer) => layer.type)) {
    throw new Error("the page runs feed-forward policies with clipped actions alone");
  }
  return { header, weights };
}

const ACTIVATIONS = {
  none: (x) => x,
  relu: (x) => Math.max(x, 0),
  tanh: Math.tanh,
  elu: (x) => (x > 0 ? x : Math.expm1(x)),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/** `input` through `layers`. */
export function forward(layers, weights, input) {
  let x = input;
  for (const { inputs, outputs, weight, bias, activation } of layers) {
    const act = ACTIVATIONS[activation];
    const y = new Float64Array(outputs);
    for (let row = 0; row < outputs; row++) {
      let sum = weights[bias + row];
      const start = weight + row * inputs;
      for (let k = 0; k < inputs; k++) sum += weights[start + k] * x[k];
      y[row] = act(sum);
    }
    x = y;
  }
  return x;
}

/** Logit of being lost: `LOST` of policies/agents/navigation.py, which says what they are. */
const LOST = [-4.2, 0.3, 0.85];

/** The policy as a function of raw observations. */
export class Policy {
  constructor(bytes) {
    const { header, weights } = readPolicy(bytes);
    this.header = header;
    this.weights = weights;
    /** Probability of being lost in the last call. */
    this.lost = null;
  }

  /** Strafe, forward and rotation in [-1, 1]. */
  act(observation) {
    const { header, weights } = this;
    if (observation.length !== header.observation_size) {
      throw new Error(`expected ${header.observation_size} numbers, got ${observation.length}`);
    }
    const end = header.observation.find((part) => part.name === "stay").stop;
    const [here, since] = observation.subarray(end - 2, end).map((x) => Math.max(x, 0));
    const logit = LOST[0] + LOST[1] * Math.log1p(100 * since) + LOST[2] * 5 * here;
    this.lost = 1 / (1 + Math.exp(-logit));
    const out = forward(header.layers, weights, observation);
    return Array.from(out, (x) => Math.min(Math.max(x, -1), 1));
  }
}

/** The policy of a walker: normalised observations through dense layers. */
export class WalkerPolicy {
  constructor(header, weights) {
    this.header = header;
    this.weights = weights;
  }

  /** Actions in [-1, 1] for one observation. */
  act(observation) {
    const { scales, mean, deviation, limit, layers } = this.header;
    const seen = Float64Array.from(mean, (middle, k) => {
      const x = (observation[k] * scales[k] - middle) / deviation[k];
      return Math.min(Math.max(x, -limit), limit);
    });
    const out = forward(layers, this.weights, seen);
    return Array.from(out, (x) => Math.min(Math.max(x, -1), 1));
  }
}
