// A view in a frame of its own, so that nothing of it meets what stands around; with a host beside it.

/** @param {import("./host.js").Host} host */
export function opened(box, page, host) {
  const frame = document.createElement("iframe");
  frame.title = "All heads of the text";
  frame.headlight = host;
  frame.srcdoc = page;
  box.replaceChildren(frame);
  return frame;
}
