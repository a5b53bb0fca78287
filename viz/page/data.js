// Data that a page holds: base64 of gzip streams in `AMBULO_DATA`, put there by classic scripts,
// so that pages work from file://, where nothing can be fetched.

/** The bytes of an entry of `AMBULO_DATA`. */
export async function bytesOf(name) {
  const text = globalThis.AMBULO_DATA?.[name];
  if (text === undefined) throw new Error(`the page lacks its data "${name}"`);
  const packed = Uint8Array.fromBase64?.(text) ?? decoded(text);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Bytes of base64 text, for browsers that have no function for it. */
function decoded(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return bytes;
}

/** The JSON of an entry. */
export const jsonOf = async (name) => JSON.parse(new TextDecoder().decode(await bytesOf(name)));

/** 32-bit floats of an entry. */
export const floatsOf = async (name) => new Float32Array((await bytesOf(name)).buffer);
