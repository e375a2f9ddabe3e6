// What is looked at. It is the address of the page too, so that a link brings it back.
import { header } from "./host.js";
import { headsOf, isPerLayer, isSpecial, measuresOf, partOf } from "./numbers.js";

/** Of a translator, what its target attends to in the source. */
const firstKind = "cross" in header.kinds ? "cross" : Object.keys(header.kinds)[0];
export const DIFFERENCE = "difference";
const SECOND = /-(second|difference)$/;
/** Without what says which of two readings it is of. */
export const baseOf = (measure) => measure.replace(SECOND, "");
export const endOf = (measure) => measure.slice(baseOf(measure).length);
/** Of one reading the first measure, of two their difference. */
const firstMeasure = (kind) => {
  const names = Object.keys(measuresOf(kind));
  return names.find((name) => name.endsWith("-difference")) ?? names[0];
};
/** Where heads differ most is seen on one scale. */
const SCALES = header.second ? ["common", "own"] : ["own", "common"];
/** What is made of special tokens at first: they, and the first token of a decoder, which most attend to, are left out. */
function specialOf(kind) {
  if (header.picture) return "shown"; // they have a place of their own beside it
  const plain = (side) => side.tokens.filter((_, place) => !isSpecial(kind, side, place)).length > 1;
  return plain(partOf(kind).queries) && plain(partOf(kind).keys) ? "out" : "shown";
}
export const state = {
  kind: firstKind, layer: partOf(firstKind).first[0], head: partOf(firstKind).first[1], measure: firstMeasure(firstKind),
  queries: [partOf(firstKind).cell[0]], key: partOf(firstKind).cell[1], direction: "from", unit: "pieces", special: specialOf(firstKind), least: 0,
  scale: SCALES[0], sort: "position", panels: [], large: "",
  /** Which tab is open; of the lines of all heads the token whose lines are kept ("q3", "k5"), and heads without lines. */
  view: "bars", token: "", off: [],
};

export const layerNumber = () => partOf(state.kind).layers[state.layer];
export const headName = (layer = state.layer, head = state.head) => `L${partOf(state.kind).layers[layer]}H${head}`;
export const mapName = ({ layer = false } = {}) => {
  const kind = Object.keys(header.kinds).length > 1 ? `${state.kind} ` : "";
  if (layer) return `all heads of ${kind}layer ${layerNumber()}`;
  return isPerLayer(state.kind, state.measure) ? `${kind}layer ${layerNumber()}, all heads together` : `head ${kind}${headName()}`;
};

export const VIEWS = ["bars", "lines", "maps"];
const CHOICES = { u: ["unit", ["pieces", "words"]], s: ["special", ["shown", "faint", "out"]], c: ["scale", SCALES], d: ["direction", ["from", "to"]] };

/** The address after "#", with what differs from how the page begins. */
export function written() {
  const parts = [`h=${layerNumber()}-${state.head}`, `m=${state.measure}`, `q=${state.queries.join(",")}`, `k=${state.key}`];
  if (Object.keys(header.kinds).length > 1) parts.unshift(`kind=${state.kind}`);
  for (const [short, [name, values]] of Object.entries(CHOICES)) if (state[name] !== (name === "special" ? specialOf(state.kind) : values[0])) parts.push(`${short}=${state[name]}`);
  if (state.least) parts.push(`t=${state.least}`);
  if (state.sort !== "position") parts.push(`o=${state.sort}`);
  parts.push(`p=${state.panels.join(",")}`);
  if (state.large) parts.push(`l=${state.large}`);
  if (state.view !== "maps") parts.push(`v=${state.view}`);
  if (state.token) parts.push(`y=${state.token}`);
  if (state.off.length) parts.push(`n=${state.off.join(",")}`);
  return parts.join("&");
}

/** A number of an address; `before` where it has none, nothing included: Number("") is 0. */
const whole = (text, limit, before) => (/^\d+$/.test(text ?? "") && Number(text) < limit ? Number(text) : before);

/** Take what an address says; what does not fit this page is passed over. */
export function readAddress(address) {
  const said = new Map(address.replace(/^#/, "").split("&").map((part) => part.split("=").map(decodeURIComponent)));
  if (said.get("kind") in header.kinds && said.get("kind") !== state.kind) beginWith(said.get("kind"));
  const part = partOf(state.kind), names = Object.keys(part.measures);
  if (names.includes(said.get("m"))) state.measure = said.get("m");
  if (!names.includes(state.measure)) state.measure = firstMeasure(state.kind);
  const [layer, head] = (said.get("h") ?? "").split("-");
  const place = part.layers.indexOf(Number(layer));
  if (layer && place >= 0) state.layer = place;
  state.layer = Math.min(state.layer, part.layers.length - 1);
  state.head = whole(head, part.heads[state.layer], Math.min(state.head, part.heads[state.layer] - 1));
  const rows = part.queries.tokens.length;
  const queries = (said.get("q") ?? "").split(",").map((each) => whole(each, rows, -1)).filter((each) => each >= 0);
  state.queries = queries.length ? queries : state.queries.filter((each) => each < rows);
  if (!state.queries.length) state.queries = [0];
  state.key = whole(said.get("k"), part.keys.tokens.length, Math.min(state.key, part.keys.tokens.length - 1));
  for (const [short, [name, values]] of Object.entries(CHOICES)) if (values.includes(said.get(short))) state[name] = said.get(short);
  if (said.has("t") && Number(said.get("t")) >= 0) state.least = Math.min(Number(said.get("t")), 1);
  if (said.has("o")) state.sort = said.get("o");
  const known = [...names, DIFFERENCE];
  if (said.has("p")) state.panels = said.get("p").split(",").filter((name) => known.includes(name));
  if (said.has("l")) state.large = known.includes(said.get("l")) ? said.get("l") : "";
  // A page that is asked for a head opens on its maps; else on the bars of a token, or of weights alone on all heads of a layer.
  state.view = VIEWS.includes(said.get("v")) ? said.get("v") : said.has("h") ? "maps" : header.second || names.includes("norm") ? "bars" : "lines";
  state.token = /^[qk]\d+$/.test(said.get("y") ?? "") ? said.get("y") : "";
  state.off = (said.get("n") ?? "").split(",").map((each) => whole(each, Math.max(...part.heads), -1)).filter((each) => each >= 0);
  state.panels = state.panels.filter((name) => known.includes(name));
  if (!state.panels.length) state.panels = firstPanels();
}

/** start over with a kind of attention. */
export function beginWith(kind) {
  const { first: [layer, head], cell: [query, key], measures } = partOf(kind);
  Object.assign(state, { kind, layer, head, queries: [query], key, token: "", off: [], special: specialOf(kind) });
  if (!(state.measure in measures)) state.measure = firstMeasure(kind);
  state.panels = firstPanels();
}

/** Side by side at first: the measures of single heads; else all. Of two readings: what both have, and the difference. */
export const firstPanels = () => {
  const names = Object.keys(measuresOf(state.kind));
  if (header.second) return names.filter((name) => baseOf(name) === baseOf(state.measure));
  const news = (name) => name !== "effective" || !partOf(state.kind).equal?.layers[state.layer];
  const own = names.filter((name) => !isPerLayer(state.kind, name) && news(name)).slice(0, 3);
  return own.length ? own : names;
};

/** Go to a head, of all heads in one line. */
export function step(layers, heads) {
  const part = partOf(state.kind);
  state.layer = (state.layer + layers + part.layers.length) % part.layers.length;
  const number = headsOf(state.kind, state.measure, state.layer);
  state.head = number === 1 && isPerLayer(state.kind, state.measure) ? state.head : (state.head + heads + number) % number;
  state.head = Math.min(state.head, part.heads[state.layer] - 1);
}
