// Where the page is: in a file, in the app, or in a notebook. Each gives it numbers and an address.
import { bytesOf, inflated } from "./bytes.js";

/** @typedef {{get: (name: string) => Promise<Uint8Array>}} Source gives blobs by name, inflated */
/**
 * @typedef {Source & {
 *   address: () => string,
 *   remember: (address: string) => void,
 *   link: ((address: string) => string) | null,
 *   can: string[],
 *   ask?: (name: string, params: object, onProgress: (step: object) => void, signal: AbortSignal) => Promise<object>,
 * }} Host has functions of a model too, named by `can`; a panel that needs one is shown where it is
 */

export const header = JSON.parse(document.getElementById("header").textContent);

/** The file itself: no model, and no blobs but those that stand in it. @type {Host} */
const file = {
  can: [],
  get: (name) => Promise.reject(new Error(`there is no ${name} in this page.`)),
  address: () => location.hash,
  remember(address) {
    try { history.replaceState(null, "", address); } catch { location.hash = address; } // within a frame
  },
  link: (address) => `${location.href.split("#")[0]}${address}`,
};

/** Apps and notebooks give themselves to the frame that the page stands in. @type {Host} */
export const host = window.frameElement?.headlight ?? file;

/** @type {Source} */
export const source = {
  get(name) {
    const element = document.querySelector(`script[data-blob="${CSS.escape(name)}"]`);
    return element ? inflated(bytesOf(element.textContent)) : host.get(name);
  },
};
