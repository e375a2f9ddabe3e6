// Where the page gets its numbers from: a header, and blobs by name, deflated.

/** @typedef {{get: (name: string) => Promise<Uint8Array>}} Source */

export const header = JSON.parse(document.getElementById("header").textContent);

const bytesOf = (text) => Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export const inflated = async (bytes) => new Uint8Array(
  await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer(),
);

/** The blobs that stand in the page itself. @type {Source} */
export const pageSource = {
  get(name) {
    const element = document.querySelector(`script[data-blob="${CSS.escape(name)}"]`);
    return inflated(bytesOf(element.textContent));
  },
};
