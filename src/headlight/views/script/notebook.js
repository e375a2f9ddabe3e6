// The view in a notebook: its kernel is asked for blobs by messages, and answers with buffers.
import { inflated } from "./bytes.js";
import { opened } from "./frame.js";

const PATIENCE = 60_000;

/** Each view of a widget asks for itself. @returns {import("./host.js").Source & {end: () => void}} */
function kernelSource(model) {
  const waiting = new Map(), own = Math.random().toString(36).slice(2);
  const heard = ({ answer, refused }, buffers) => {
    const one = waiting.get(answer);
    waiting.delete(answer);
    if (refused) one?.reject(new Error(refused));
    else one?.resolve(inflated(buffers[0]));
  };
  model.on("msg:custom", heard);
  let number = 0;
  return {
    get: (name) => new Promise((resolve, reject) => {
      number += 1;
      const answer = `${own} ${number}`;
      waiting.set(answer, { resolve, reject });
      setTimeout(() => { if (waiting.delete(answer)) reject(new Error("the kernel does not answer; run the cell again.")); }, PATIENCE);
      model.send({ ask: name, answer });
    }),
    end: () => model.off("msg:custom", heard),
  };
}

/** Light or dark, as JupyterLab is. */
function likeAround(frame) {
  const { jpThemeLight } = document.body.dataset, root = frame.contentDocument?.documentElement;
  if (jpThemeLight && root) root.dataset.theme = jpThemeLight === "true" ? "light" : "dark";
}

export function render({ model, el }) {
  const source = kernelSource(model);
  let address = "";
  const host = { can: [], get: source.get, address: () => address, remember: (now) => { address = now; }, link: null };
  const frame = opened(el, model.get("page"), host);
  frame.style.cssText = `width:100%;height:${model.get("height")}px;border:0`;
  frame.addEventListener("load", () => likeAround(frame));
  return source.end;
}
