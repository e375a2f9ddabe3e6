// One state, and everything that is drawn of it. Pointing shows, a click keeps, Escape lets go.
import { header, host } from "./host.js";
import { headIndex, isPerLayer, loadKind, measuresOf, need, needAround, partOf } from "./numbers.js";
import { baseOf, beginWith, DIFFERENCE, endOf, firstPanels, headName, mapName, readAddress, state, step, written } from "./state.js";
import { explanationOf, isTwoSided, scaleOf, shortOf, shown } from "./measures.js";
import { byCell, drawOverview, forgetRoom, likeThis, moveFrame, placeOf, prepare, rankBy, sayHovered, statisticsOf } from "./overview.js";
import { cellAt, cellNumbers, drawPanels, forgetRooms, moveCursor } from "./panels.js";
import { describe, drawText } from "./text.js";
import { drawLines, drawTable } from "./links.js";
import { drawLayerLines, forgetWidth, offerLayerLines } from "./layer_lines.js";
import { drawBars, drawGrid, offerBars } from "./bars.js";
import { drawLayers } from "./layers.js";
import { asJson, asLatex, asLink, asPng, asPython, asSvg, offer } from "./export.js";
import { differs, isolated, isTimed, namedOf, units } from "./units.js";
import { forgetColours } from "./colours.js";
import { offerWhatIf } from "./what_if.js";
import { build, statisticsTable } from "./head_numbers.js";

const byId = (id) => document.getElementById(id);
const REST = 250, MOST_RELATIONS = 3;
let kept = false, frame = 0, waiting = 0;

// What follows from the state ------------------------------------------------------------------
/** Write the address, once nothing has changed for a moment: browsers take longer for it than for drawing. */
function remember() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const address = `#${written()}`;
    if (host.address() !== address) host.remember(address);
  }, REST);
}

function drawReadout() {
  const cell = cellNumbers(), readout = byId("readout");
  readout.replaceChildren();
  if (!cell) return;
  readout.append(`${isolated(cell.from)} → ${isolated(cell.to)}`);
  for (const [name, number] of cell.numbers) {
    const part = document.createElement("span"), strong = document.createElement("b");
    strong.textContent = number;
    part.append(`${name} `, strong);
    readout.append(part);
  }
}

function drawCard() {
  const of = `${state.kind} ${headName()}`;
  if (byId("card").dataset.of === of) return; // it has all measures
  byId("card").dataset.of = of;
  const part = partOf(state.kind), index = headIndex(state.kind, state.layer, state.head);
  const names = [...new Set(part.statistics.flatMap(({ by }) => Object.keys(by)))].filter((name) => name in part.measures && endOf(name) !== `-${DIFFERENCE}`);
  const own = ({ by }) => by.weight?.[0][index] ?? 0;
  const related = part.statistics.filter(({ relation }) => relation).sort((one, other) => own(other) - own(one));
  const rows = [...part.statistics.filter(({ relation }) => !relation), ...related.slice(0, MOST_RELATIONS)];
  byId("card-box").hidden = !rows.length;
  const heads = part.heads.reduce((sum, number) => sum + number, 0);
  byId("card").replaceChildren(statisticsTable(
    `Where each measure puts the head’s attention: shares of a row, the mean over the rows that can; and its rank among ${heads} heads`,
    rows, names.map((name) => [name, shortOf(name)]), index, part.keys.times ? "frame" : "token",
  ));
  drawCorpus(part);
}

/** What a survey says of the head, and the way to its report. */
function drawCorpus(part) {
  const name = headName(), found = part.findings?.[name] ?? [];
  const lines = found.map((sentence) => build("p", {}, `In the corpus: ${sentence}`));
  if (header.report) {
    const link = build("a", {}, `${name} in the report`), kind = Object.keys(header.kinds).length > 1 ? `kind=${state.kind}&` : "";
    link.href = `${header.report}#${kind}h=${part.layers[state.layer]}-${state.head}`;
    lines.push(build("p", {}, link));
  }
  byId("in-corpus").replaceChildren(...lines);
}

/** After the pointer has moved to another cell: nothing but boxes, colours of words and a line. */
function drawCell() {
  drawBars();
  drawReadout();
  drawText();
  if (state.view !== "maps") return;
  moveCursor();
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => {
    if (byId("lines-box").open) drawLines(byId("all-lines").checked);
    if (byId("layers-box").open) drawLayers().catch(sayTrouble);
  });
}

function drawHead() {
  byId("head-title").textContent = `${mapName()[0].toUpperCase()}${mapName().slice(1)}`;
  byId("layer").value = state.layer;
  byId("head").value = state.head;
  byId("head").disabled = isPerLayer(state.kind, state.measure);
  if (byId("card-box").open) drawCard();
  const { kind, layer } = state, fetching = need(kind, layer);
  if (!fetching) { drawMaps(); return; }
  byId("maps").setAttribute("aria-busy", "true");
  const here = () => state.kind === kind && state.layer === layer;
  fetching.then(() => { if (here()) drawMaps(); }, (trouble) => { if (here()) { drawMaps(); sayTrouble(trouble); } });
}

function drawMaps() {
  byId("maps").removeAttribute("aria-busy");
  byId("trouble").textContent = "";
  drawGrid();
  drawLayerLines();
  if (state.view === "maps") drawPanels();
  drawCell();
  if (state.view === "maps" && byId("links-box").open) drawTable();
  if (header.live) needAround(state.kind, state.layer);
}

/** What a measure is made of in the end. */
function rootOf(name) {
  const about = measuresOf(state.kind)[name], [part] = about.from ?? about.less ?? [];
  return part ? rootOf(part) : about;
}

const sayTrouble = (trouble) => { byId("trouble").textContent = `These numbers could not be fetched: ${trouble.message}`; };

function drawControls() {
  document.querySelectorAll('input[name="measure"]').forEach((input) => {
    input.disabled = !(input.value in measuresOf(state.kind));
    input.checked = input.value === state.measure;
  });
  for (const [name, measureOf] of [["base", (value) => `${value}${endOf(state.measure)}`], ["which", (value) => `${baseOf(state.measure)}${value}`]]) {
    document.querySelectorAll(`input[name="${name}"]`).forEach((input) => {
      input.checked = measureOf(input.value) === state.measure;
      input.disabled = !(measureOf(input.value) in measuresOf(state.kind));
    });
  }
  document.querySelectorAll('input[name="view"]').forEach((input) => input.addEventListener("change", () => change({ view: input.value })));
byId("parked").addEventListener("click", () => change({ special: state.special === "out" ? "shown" : "out" }));
for (const name of ["unit", "special", "scale", "direction"]) byId(name).value = state[name];
  document.querySelectorAll('input[name="view"]').forEach((input) => { input.checked = input.value === state.view; });
  document.querySelectorAll("[data-views]").forEach((each) => { each.hidden = !each.dataset.views.includes(state.view); });
  byId("special-of").textContent = state.kind === "decoder" ? "First and special tokens" : "Special tokens";
  byId("least").value = Math.sqrt(state.least);
  const below = isTwoSided(state.measure) ? " The second less the first: orange where it is more, blue where it is less." : measuresOf(state.kind)[state.measure].code === "signed" ? " Cells below zero have no colour." : "";
  byId("explanation").textContent = `${explanationOf(state.measure)}${below}`;
  const { equal } = partOf(state.kind);
  byId("equal").hidden = !equal;
  byId("equal").textContent = `Effective attention is ${equal?.said}.`;
  document.querySelectorAll('input[name="panel"]').forEach((input) => {
    input.disabled = input.value === DIFFERENCE ? !differs() : !(input.value in measuresOf(state.kind));
    input.checked = state.panels.includes(input.value);
  });
  const options = [new Option("place", "position"), ...statisticsOf().map(({ name, label, relation }) => new Option(relation ? `relation ${label}` : label, name))];
  const sorts = byId("sort");
  // The same list stays: to make another one costs a layout of the page.
  if (options.map(({ text }) => text).join() !== [...sorts.options].map(({ text }) => text).join()) sorts.replaceChildren(...options);
  if (!options.some(({ value }) => value === state.sort)) state.sort = "position";
  byId("sort").value = state.sort;
  const about = measuresOf(state.kind)[state.measure];
  const bound = `Numbers on this page are exact to ±${shown(about.bound, state.measure).replace("+", "")}`;
  const source = rootOf(state.measure);
  byId("bound").textContent = `${bound}.`;
  byId("kept").hidden = !source.cells;
  const whole = source.cells && source.dense.length ? ` but for ${source.dense.map(([layer, head]) => headName(layer, head)).join(", ")}` : "";
  if (source.cells) byId("kept").textContent = `Of each row the ${source.cells} strongest cells are kept${whole}; the others are grey, and sums go without them. All of them: headlight serve, or a larger --page-size.`;
  byId("sides").textContent = state.kind !== "cross" ? "Rows attend, columns are attended to." : isTimed(units().columns) ? "Rows attend, and are of the transcript; columns are frames of sound, along the seconds." : "Rows attend, and are the target’s; columns are attended to, and are the source’s.";
  byId("direction").disabled = !units().same;
  const ends = isTwoSided(state.measure) ? ["less", "more"] : ["0", "largest"];
  ends.forEach((said, at) => { byId("scale-of").children[2 * at].textContent = said; });
  byId("scale-of").className = `scale scale-${scaleOf(state.measure)}`;
}

/** Tokens that are left out cannot be looked at. */
function stayVisible() {
  const { rows, columns, rowOf, columnOf } = units();
  state.queries = state.queries.filter((query) => rowOf[query] >= 0);
  if (!state.queries.length) state.queries = rows[0].places;
  if (columnOf[state.key] < 0) [state.key] = columns[0].places;
}

function drawAll() {
  stayVisible();
  drawControls();
  if (state.view === "maps") drawOverview();
  drawHead();
  remember();
}

async function useKind() {
  const part = partOf(state.kind);
  await loadKind(state.kind);
  byId("layer").replaceChildren(...part.layers.map((number, at) => new Option(number, at)));
  byId("head").replaceChildren(...Array.from({ length: Math.max(...part.heads) }, (_, at) => new Option(at)));
  if (byId("kind")) byId("kind").value = state.kind;
  drawAll();
  prepare();
}

const change = (changes, draw = drawAll) => { Object.assign(state, changes); draw(); remember(); };
const places = (side, unit) => units()[side][unit].places;

function keepTokens(side, unit, add) {
  const chosen = places(side, unit), there = chosen.every((place) => state.queries.includes(place));
  if (!add) state.queries = chosen;
  else if (there && state.queries.length > chosen.length) state.queries = state.queries.filter((query) => !chosen.includes(query));
  else state.queries = [...new Set([...state.queries, ...chosen])];
  kept = true;
  drawCell();
  remember();
}

/** Of two readings, the panels are those of the measure. */
function chooseMeasure(measure) {
  const panels = state.panels.includes(measure) ? state.panels : [...state.panels, measure];
  state.measure = measure;
  rankBy(null);
  change({ panels: header.second ? firstPanels() : panels });
}

// Controls -------------------------------------------------------------------------------------
byId("kind")?.addEventListener("change", (event) => {
  beginWith(event.target.value);
  useKind();
});
document.querySelectorAll('input[name="measure"]').forEach((input) => input.addEventListener("change", () => {
  chooseMeasure(input.value);
}));
document.querySelectorAll('input[name="base"]').forEach((input) => input.addEventListener("change", () => chooseMeasure(`${input.value}${endOf(state.measure)}`)));
document.querySelectorAll('input[name="which"]').forEach((input) => input.addEventListener("change", () => chooseMeasure(`${baseOf(state.measure)}${input.value}`)));
document.querySelectorAll('input[name="panel"]').forEach((input) => input.addEventListener("change", () => {
  const panels = input.checked ? [...state.panels, input.value] : state.panels.filter((name) => name !== input.value);
  change({ panels: panels.length ? panels : firstPanels() });
}));
for (const name of ["unit", "special", "scale", "direction"]) byId(name).addEventListener("change", (event) => change({ [name]: event.target.value }));
byId("least").addEventListener("input", (event) => change({ least: Number(event.target.value) ** 2 }));
byId("layer").addEventListener("change", (event) => { state.layer = Number(event.target.value); step(0, 0); moveFrame(); drawHead(); remember(); });
byId("head").addEventListener("change", (event) => { state.head = Number(event.target.value); step(0, 0); moveFrame(); drawHead(); remember(); });
byId("sort").addEventListener("change", (event) => { rankBy(null); change({ sort: event.target.value }, drawOverview); });
byId("alike").addEventListener("click", () => { rankBy(likeThis()); drawOverview(); });
byId("by-cell").addEventListener("click", async () => { const { measure } = state; rankBy(await byCell(), (value) => shown(value, measure)); drawOverview(); });
byId("all-lines").addEventListener("change", drawCell);
for (const name of ["lines-box", "layers-box"]) byId(name).addEventListener("toggle", drawCell);
byId("links-box").addEventListener("toggle", drawTable);
byId("card-box").addEventListener("toggle", drawCard);

// All heads ------------------------------------------------------------------------------------
const picker = byId("picker");
picker.addEventListener("pointermove", (event) => sayHovered(placeOf(event)));
picker.addEventListener("pointerleave", () => sayHovered(null));
byId("leading").addEventListener("click", ({ target }) => { if (target.dataset.layer) look({ layer: Number(target.dataset.layer), head: Number(target.dataset.head) }); });
picker.addEventListener("click", (event) => { const place = placeOf(event); if (place) look(place); });
function look(place) {
  state.layer = place.layer;
  if (!isPerLayer(state.kind, state.measure)) state.head = place.head;
  step(0, 0);
  moveFrame(); drawHead(); remember();
}

// Maps -----------------------------------------------------------------------------------------
const panels = byId("panels");
function goTo(row, column, keep) {
  if (!kept || keep) state.queries = places("rows", row);
  [state.key] = places("columns", column);
  drawCell();
}
panels.addEventListener("pointermove", (event) => { const cell = cellAt(event); if (cell) goTo(cell.row, cell.column, false); });
panels.addEventListener("click", (event) => {
  const larger = event.target.closest(".enlarge");
  if (larger) {
    const { measure } = larger.closest(".panel").dataset;
    change({ large: state.large === measure ? "" : measure }, drawPanels);
    return;
  }
  const cell = cellAt(event);
  if (!cell) return;
  if (event.shiftKey) { keepTokens("rows", cell.row, true); return; }
  kept = true;
  goTo(cell.row, cell.column, true);
  remember();
});
panels.addEventListener("keydown", (event) => {
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  if (!(event.key in moves) || !event.target.closest(".map")) return;
  event.preventDefault();
  const { rows, columns, rowOf, columnOf } = units(), [down, right] = moves[event.key];
  const within = (place, length) => Math.min(Math.max(place, 0), length - 1);
  kept = true;
  goTo(within(rowOf[state.queries.at(-1)] + down, rows.length), within(columnOf[state.key] + right, columns.length), true);
  remember();
});

// Words ----------------------------------------------------------------------------------------
for (const [id, side] of [["text", "columns"], ["target", "rows"]]) {
  const box = byId(id);
  const unitAt = (event) => Number(event.target.closest("button")?.dataset.unit ?? -1);
  const own = () => (id === "target" || units().same);
  box.addEventListener("pointerover", (event) => {
    const unit = unitAt(event);
    if (unit < 0) return;
    if (own() && !kept) state.queries = places(side, unit);
    else if (id === "text") [state.key] = places("columns", unit);
    drawCell();
  });
  box.addEventListener("focusin", (event) => {
    const unit = unitAt(event);
    if (unit >= 0) event.target.setAttribute("aria-label", id === "text" ? describe(drawText(), unit) : namedOf(units().rows[unit]));
  });
  box.addEventListener("click", (event) => { const unit = unitAt(event); if (unit >= 0 && own()) keepTokens(side, unit, event.shiftKey); });
  box.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = move && box.children[unitAt(event) + move];
    if (!next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}

// Export ---------------------------------------------------------------------------------------
async function copy(text) {
  byId("taken").value = text;
  byId("taken").hidden = false;
  byId("taken").select();
  try { await navigator.clipboard.writeText(text); byId("taken-note").textContent = "Copied."; } catch { byId("taken-note").textContent = "Selected; copy it from here."; }
}
const name = (suffix) => `${headName()}${suffix}`;
const takes = {
  svg: () => offer(name(".svg"), asSvg(), "image/svg+xml"),
  png: async () => offer(name(".png"), await asPng(), "image/png"),
  json: () => offer(name(".json"), asJson(), "application/json"),
  latex: () => copy(asLatex()), python: () => copy(asPython()), link: () => copy(asLink()),
};
byId("export-python").hidden = !header.model; // of weights alone, which no model gives again
for (const [id, take] of Object.entries(takes)) byId(`export-${id}`).addEventListener("click", take);

// Keys -----------------------------------------------------------------------------------------
const enabled = (name) => [...document.querySelectorAll(`input[name="${name}"]:enabled`)].map((input) => input.value);
/** Of two readings the measures of the one, or the difference, that is looked at. */
const measureNames = () => (header.second ? enabled("base").map((base) => `${base}${endOf(state.measure)}`) : enabled("measure"));
const next = (list, value) => list[(list.indexOf(value) + 1) % list.length];
const findHeads = () => { change({ view: "maps" }); byId("sort").scrollIntoView({ block: "center" }); byId("sort").focus(); };
byId("find-heads").addEventListener("click", findHeads);
const headKeys = { "[": [-1, 0], "]": [1, 0], ",": [0, -1], ".": [0, 1] };
const toggle = (id) => { change({ view: "maps" }); byId(id).open = !byId(id).open; byId(id).scrollIntoView({ block: "nearest" }); };
const keys = {
  d: () => {
    if (header.second) chooseMeasure(`${baseOf(state.measure)}${next(enabled("which"), endOf(state.measure))}`);
    else if (differs()) change({ panels: state.panels.includes(DIFFERENCE) ? state.panels.filter((each) => each !== DIFFERENCE) : [...state.panels, DIFFERENCE] });
  },
  w: () => change({ unit: next(["pieces", "words"], state.unit) }),
  x: () => change({ special: next(["shown", "faint", "out"], state.special) }),
  t: () => units().same && change({ direction: next(["from", "to"], state.direction) }),
  "/": findHeads,
  l: () => toggle("lines-box"), e: () => toggle("export-box"), "?": () => toggle("keys-box"),
  Escape: () => { kept = false; state.token = ""; state.queries = state.queries.slice(-1); rankBy(null); change({ sort: "position", large: "" }); },
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("textarea, select")) return;
  if (event.key in headKeys) { step(...headKeys[event.key]); moveFrame(); drawHead(); remember(); return; }
  const measure = measureNames()[Number(event.key) - 1];
  if (measure) { chooseMeasure(measure); return; }
  if (!(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});

// All heads of a layer -------------------------------------------------------------------------
offerLayerLines({
  remember,
  look(place) { look(place); change({ view: "maps" }); byId("head-title").scrollIntoView({ block: "start" }); },
  keep(token) {
    const place = Number(token.slice(1));
    if (token) Object.assign(state, token[0] === "q" ? { queries: [place] } : { key: place });
    kept = Boolean(token);
    drawCell();
  },
});

offerBars({ look, keep(query) { kept = true; change({ queries: [query] }, () => { stayVisible(); drawCell(); }); } });

// What if --------------------------------------------------------------------------------------
offerWhatIf((layer, head) => { state.layer = layer; state.head = head; step(0, 0); moveFrame(); drawHead(); remember(); });

// From here on there are numbers to draw.
readAddress(host.address());
kept = host.address().includes("q=");
byId("export-link").hidden = !host.link;
useKind().then(() => {
  const recolour = () => { forgetColours(); drawAll(); };
  document.addEventListener("themechange", recolour);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  const widths = new Map();
  const watcher = new ResizeObserver((entries) => {
    const others = entries.filter(({ target, contentRect }) => widths.has(target) && widths.get(target) !== contentRect.width);
    for (const { target, contentRect } of entries) widths.set(target, contentRect.width);
    if (!others.length) return;
    forgetRoom(); forgetRooms(); forgetWidth();
    if (state.view === "maps") drawOverview();
    drawHead();
  });
  for (const each of [picker.parentElement, panels, byId("layer-lines").parentElement, byId("bars").parentElement, byId("apart").parentElement]) watcher.observe(each);
  window.addEventListener("hashchange", () => { if (host.address() !== `#${written()}`) { kept = true; readAddress(host.address()); useKind(); } });
  document.documentElement.dataset.ready = "yes";
});
