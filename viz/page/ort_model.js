// Networks of `ambulo export NAME --target onnx`, run by onnxruntime-web on one thread.

import * as ort from "onnxruntime-web/wasm";
import { bytesOf } from "./data.js";

/** A network, whose WebAssembly the page holds as "ort.wasm". */
export class OnnxModel {
  /** Loads the entry `name` of the page's data. */
  static async load(name) {
    ort.env.wasm.numThreads = 1;
    ort.env.wasm.wasmBinary ??= (await bytesOf("ort.wasm")).buffer;
    const model = new OnnxModel();
    model.session = await ort.InferenceSession.create(await bytesOf(name));
    return model;
  }

  /** Outputs by name, each with `data` and `dims`, for inputs { name: [data, shape] }. */
  async run(inputs) {
    const feeds = Object.fromEntries(Object.entries(inputs).map(
      ([name, [data, shape]]) => [name, new ort.Tensor("float32", Float32Array.from(data), shape)],
    ));
    return this.session.run(feeds);
  }
}
