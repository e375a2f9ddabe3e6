// The view in a notebook: its kernel is asked for blobs by messages, and answers with buffers.
import { inflated } from "./bytes.js";
import { opened } from "./frame.js";

const PATIENCE = 60_000;

/** Each view of a widget asks for itself. */
function kernelOf(model) {
  const waiting = new Map(), own = Math.random().toString(36).slice(2);
  const heard = ({ answer, refused, step }, buffers) => {
    const one = waiting.get(answer);
    waiting.delete(answer);
    if (refused) one?.reject(new Error(refused));
    else one?.resolve(step ?? inflated(buffers[0]));
  };
  model.on("msg:custom", heard);
  let number = 0;
  const newName = () => { number += 1; return `${own} ${number}`; };
  const asked = (answer, message, patience = PATIENCE) => new Promise((resolve, reject) => {
    waiting.set(answer, { resolve, reject });
    if (patience) setTimeout(() => { if (waiting.delete(answer)) reject(new Error("the kernel does not answer; run the cell again.")); }, patience);
    model.send(message);
  });
  return {
    get(name) { const answer = newName(); return asked(answer, { ask: name, answer }); },
    /** Step by step, each of which is asked for: a model may take long for one. */
    async ask(name, params, onProgress, signal) {
      const answer = newName();
      let step = await asked(answer, { call: name, params, answer }, 0);
      while (step.result === undefined) {
        onProgress(step);
        if (signal.aborted) { model.send({ stop: answer }); throw new Error("stopped."); }
        step = await asked(answer, { next: answer }, 0);
      }
      return step.result;
    },
    end: () => model.off("msg:custom", heard),
  };
}

/** Light or dark, as JupyterLab is. */
function likeAround(frame) {
  const { jpThemeLight } = document.body.dataset, root = frame.contentDocument?.documentElement;
  if (jpThemeLight && root) root.dataset.theme = jpThemeLight === "true" ? "light" : "dark";
}

export function render({ model, el }) {
  const kernel = kernelOf(model);
  let address = "";
  const host = { can: model.get("can"), get: kernel.get, ask: kernel.ask, address: () => address, remember: (now) => { address = now; }, link: null };
  const frame = opened(el, model.get("page"), host);
  frame.style.cssText = `width:100%;height:${model.get("height")}px;border:0`;
  frame.addEventListener("load", () => likeAround(frame));
  return kernel.end;
}
