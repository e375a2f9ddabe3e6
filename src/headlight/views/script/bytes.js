// Blobs as they travel: deflated by gzip, and in a page as text.

export const bytesOf = (text) => Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export const inflated = async (bytes) => new Uint8Array(
  await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer(),
);
