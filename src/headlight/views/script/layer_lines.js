// The lines of all heads of a layer over one another, a colour for each head: a tab of the page.
import { headColour, variable } from "./colours.js";
import { isTwoSided, shortOf, shown } from "./measures.js";
import { headsOf, isPerLayer, isThere, measuresOf, partOf, textPlace } from "./numbers.js";
import { headName, layerNumber, mapName, state } from "./state.js";
import { ABOVE, columnsIn, ofAll, ofColumn, ofRow, penFor, strokeLinks, strongest, told, writeColumns } from "./links.js";
import { isolated, topOf, units, viewOf } from "./units.js";

const MOST = 1500, OF_TOKEN = 400, SAID = 6, WIDE = 900, NEAR = 24;
const byId = (id) => document.getElementById(id);
const canvas = byId("layer-lines"), swatches = byId("swatches");
/** The token under the pointer, as `state.token` has the one that is kept. */
let pointed = "", place = null, drawn = "", room = 0;
export const forgetWidth = () => { room = 0; };

const heads = () => Array.from({ length: headsOf(state.kind, state.measure, state.layer) }, (_, head) => head);
const shownHeads = () => (isPerLayer(state.kind, state.measure) ? [0] : heads().filter((head) => !state.off.includes(head)));
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const colourOf = (head) => (isPerLayer(state.kind, state.measure) ? variable("--ink") : headColour(head));

/** Side and unit of a token of the address; nothing where it is left out. */
function unitOf(token) {
  const { rowOf, columnOf } = units(), at = (token[0] === "q" ? rowOf : columnOf)[Number(token.slice(1))] ?? -1;
  return token && at >= 0 ? { side: token[0] === "q" ? "rows" : "columns", at } : null;
}
const tokenOf = ({ side, at }) => `${side === "rows" ? "q" : "k"}${units()[side][at].places[0]}`;

function drawSwatches() {
  const together = isPerLayer(state.kind, state.measure), list = together ? [] : heads();
  if (swatches.children.length !== list.length) {
    const template = byId("swatch");
    swatches.replaceChildren(...list.map((head) => {
      const element = template.content.cloneNode(true).firstElementChild;
      element.dataset.head = head;
      element.querySelector(".go").textContent = head;
      return element;
    }));
  }
  for (const element of swatches.children) {
    const head = Number(element.dataset.head), [lines, go] = element.children;
    lines.style.setProperty("--head", headColour(head));
    lines.setAttribute("aria-pressed", !state.off.includes(head));
    lines.setAttribute("aria-label", `lines of head ${head}`);
    go.setAttribute("aria-label", `head ${headName(state.layer, head)} by itself`);
    if (head === state.head) go.setAttribute("aria-current", "true"); else go.removeAttribute("aria-current");
  }
  swatches.hidden = together;
  byId("every-head").hidden = together;
  byId("every-head").disabled = !list.some((head) => state.off.includes(head));
}

const linkSaid = ({ head, row, column, value }) => {
  const { rows, columns } = units(), by = isPerLayer(state.kind, state.measure) ? "" : ` (head ${head})`;
  return `${isolated(told(rows, row))} → ${isolated(told(columns, column))} ${shown(value, state.measure)}${by}`;
};

/** The first token of a decoder sees itself alone, by any head. */
const hasNoChoice = (row) => state.kind === "decoder" && textPlace(partOf(state.kind).queries, units().rows[row].places[0]) === 0;

/** What is drawn, in words: of how many lines, and which part of all that heads give. */
function say({ links, of, part }, unit, first) {
  const kept = measuresOf(state.kind)[state.measure].cells ? " that is kept" : "", percent = part > 0.9995 && links.length < of ? 99.9 : 100 * part;
  const whose = unit ? ` of “${isolated(told(units()[unit.side], unit.at))}”` : "";
  const which = links.length === of ? `All ${grouped(of)} lines${whose} are drawn` : `The ${grouped(links.length)} strongest of ${grouped(of)} lines${whose} are drawn: ${percent.toFixed(percent < 99.5 ? 0 : 1)}% of the ${shortOf(state.measure).replace(" (no head)", "")}${kept}`;
  byId("drawn").textContent = `${isTwoSided(state.measure) ? "Broken lines are less. " : ""}${which}.`;
  byId("strongest").replaceChildren(...first.map((link) => {
    const line = document.createElement("li");
    line.style.setProperty("--head", colourOf(link.head));
    line.textContent = linkSaid(link);
    return line;
  }));
}

/** Draw unless it would be drawn of the same. */
export function drawLayerLines() {
  byId("layer-lines-title").textContent = `${mapName({ layer: true })[0].toUpperCase()}${mapName({ layer: true }).slice(1)}`;
  if (state.view !== "lines") return;
  drawSwatches();
  room ||= canvas.parentElement.clientWidth;
  const unit = unitOf(pointed || state.token), off = state.off.join();
  const there = isThere(state.kind, state.layer, state.measure);
  const now = [units().name, state.measure, state.layer, off, unit?.side, unit?.at, state.least, room, variable("--ink"), window.devicePixelRatio, there].join();
  if (now === drawn || !there) return;
  drawn = now;
  const all = (isPerLayer(state.kind, state.measure) ? [0] : heads()).map((head) => ({ head, view: viewOf(state.measure, state.layer, head) }));
  const top = Math.max(...all.map(({ view }) => topOf(view))), maps = all.filter(({ head }) => shownHeads().includes(head));
  const cells = !unit ? ofAll() : unit.side === "rows" ? ofRow(unit.at) : ofColumn(unit.at);
  const found = maps.length ? strongest(maps, [cells], unit ? OF_TOKEN : MOST) : { links: [], of: 0, part: 1 };
  place = columnsIn(Math.min(room, WIDE));
  const pen = penFor(canvas, place);
  const first = found.links.filter(({ row }) => unit || !hasNoChoice(row)).slice(0, SAID);
  writeColumns(pen, place, unit ? { rows: first.map(({ row }) => row), columns: first.map(({ column }) => column) } : {});
  const colours = all.map(({ head }) => colourOf(head));
  strokeLinks(pen, place, found.links, top, ({ head }) => colours[head], { heads: all.length, dashed: isTwoSided(state.measure) });
  say(found, unit, first);
  byId("layer-lines-top").textContent = shown(top, state.measure).replace("+", isTwoSided(state.measure) ? "±" : "");
  canvas.setAttribute("aria-label", `Lines of ${mapName({ layer: true })}, by ${shortOf(state.measure)}. The strongest: ${first.slice(0, 3).map(linkSaid).join("; ") || "none"}`);
}

/** The token at a place of the canvas: of the left or the right column, not between them. */
function tokenAt(event) {
  const frame = canvas.getBoundingClientRect(), x = event.clientX - frame.left, y = event.clientY - frame.top - ABOVE;
  const side = x < place.left + NEAR ? "rows" : x > place.right - NEAR ? "columns" : null, at = side ? Math.floor(y / place.high[side]) : -1;
  return side && at >= 0 && at < units()[side].length ? tokenOf({ side, at }) : "";
}

function point(token) {
  if (token === pointed) return;
  pointed = token;
  drawLayerLines();
}

/** By the keyboard: up and down through a column, left and right from one to the other. */
function moved(key) {
  const { side, at } = unitOf(state.token) ?? { side: "rows", at: -1 };
  const to = { ArrowLeft: "rows", ArrowRight: "columns" }[key] ?? side, by = { ArrowUp: -1, ArrowDown: 1 }[key] ?? 0;
  return tokenOf({ side: to, at: Math.min(Math.max(at + by, 0), units()[to].length - 1) });
}

/**
 * @param {{look: (place: {layer: number, head: number}) => void, keep: (token: string) => void, remember: () => void}} page
 * shows a head by itself, keeps a token for the other parts too, and writes the address
 */
export function offerLayerLines({ look, keep, remember }) {
  const frame = canvas.parentElement;
  const turn = (off) => { state.off = off; drawLayerLines(); remember(); };
  const alone = (head) => { const others = heads().filter((each) => each !== head); turn(shownHeads().join() === String(head) ? [] : others); };
  const headOf = (event) => Number(event.target.closest("[data-head]").dataset.head);
  swatches.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const head = headOf(event);
    if (button.className === "go") look({ layer: state.layer, head });
    else if (event.shiftKey) alone(head);
    else turn(state.off.includes(head) ? state.off.filter((each) => each !== head) : [...state.off, head]);
  });
  swatches.addEventListener("dblclick", (event) => { if (event.target.closest(".lines")) alone(headOf(event)); });
  byId("every-head").addEventListener("click", () => turn([]));
  const choose = (token) => { state.token = token; pointed = ""; keep(token); drawLayerLines(); remember(); };
  canvas.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse" && place) point(tokenAt(event)); });
  canvas.addEventListener("pointerleave", () => point(""));
  canvas.addEventListener("click", (event) => { const token = place ? tokenAt(event) : ""; choose(token === state.token ? "" : token); });
  frame.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    choose(moved(event.key));
  });
}
