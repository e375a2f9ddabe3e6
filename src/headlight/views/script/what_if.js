// What the model would predict with other attention. Shown where there is a model to be asked.
import { header, host } from "./host.js";
import { partOf, textPlace } from "./numbers.js";
import { headName, layerNumber, state } from "./state.js";
import { isolated } from "./units.js";

const byId = (id) => document.getElementById(id);
const say = (text) => { byId("what-said").textContent = text; };

const cell = (text) => { const made = document.createElement("td"); made.textContent = text; return made; };
const line = (...cells) => { const made = document.createElement("tr"); made.append(...cells); return made; };
const SHOWN = 3, LEAST = 0.005;
/** The most probable choices, but for those that hardly are. */
const shares = (choices) => choices.filter(([, share], at) => !at || (at < SHOWN && share >= LEAST)).map(([choice, share]) => `${isolated(choice)} ${(100 * share).toFixed(1)}%`).join(", ");
const nats = (value) => (value < 0.001 ? value.toExponential(1) : value.toPrecision(3));
const rowsOf = (id, rows) => {
  byId(id).tBodies[0].replaceChildren(...rows);
  byId(id).parentElement.hidden = !rows.length;
};

/** The edit that is asked for, as `headlight.reading.edits.Edit` has it. */
function edit() {
  const change = byId("what-change").value, of = byId("what-place").value, found = { layer: layerNumber(), change };
  if (of !== "layer") found.head = state.head;
  if (of === "row") found.query = textPlace(partOf(state.kind).queries, state.queries.at(-1));
  if (change === "weights") found.weights = byId("what-weights").value.split(/[\s,;]+/).filter(Boolean).map(Number);
  return found;
}

/** Ask the model; meanwhile nothing else can be asked. */
async function asked(name, params, onProgress) {
  const buttons = [byId("what-ask"), byId("what-heads")], running = new AbortController(), stop = byId("what-stop");
  for (const button of buttons) button.disabled = true;
  stop.hidden = false;
  stop.onclick = () => running.abort();
  try { return await host.ask(name, { kind: state.kind, ...params }, onProgress, running.signal); } catch (trouble) {
    say(running.signal.aborted ? "Stopped." : trouble.message);
    return null;
  } finally {
    if (document.activeElement === stop) buttons[0].focus();
    stop.hidden = true;
    for (const button of buttons) button.disabled = false;
  }
}

/** A button for a head, which chooses it. */
function headButton(layer, head, choose, note = "") {
  const made = document.createElement("button"), at = partOf(state.kind).layers.indexOf(layer);
  made.type = "button";
  made.className = "small-button";
  made.textContent = `${headName(at, head)}${note}`;
  made.addEventListener("click", () => choose(at, head));
  return made;
}

async function tryIt(choose) {
  const what = edit(), name = what.head === undefined ? `layer ${what.layer}` : headName();
  const said = byId("what-change").selectedOptions[0].textContent;
  const found = await asked("what_if", { edits: [what] }, (step) => say(`${step.what} …`));
  if (!found) return;
  byId("what-tokens").caption.textContent = `${name}: ${said}`;
  rowsOf("what-tokens", found.tokens.map((token, at) => line(
    cell(isolated(token)), cell(nats(found.kl[at])), cell(shares(found.before[at])), cell(shares(found.after[at])),
  )));
  const others = found.before.filter((row, at) => row[0][0] !== found.after[at][0][0]).length;
  say(`${name}: ${others} of ${found.tokens.length} predictions become others.`);
  const moved = found.moved.map(([layer, head, by]) => headButton(layer, head, choose, ` ${by.toFixed(3)}`));
  byId("what-moved").replaceChildren(moved.length ? "Later heads that attend otherwise (total variation of their rows, the mean): " : "", ...moved);
}

async function eachHead(choose) {
  const effects = [], draw = () => rowsOf("what-effects", effects.map(([layer, head, kl, changed]) => {
    const place = document.createElement("td");
    place.append(headButton(layer, head, choose));
    return line(place, cell(nats(kl)), cell(String(changed)));
  }));
  const found = await asked("each_head", {}, (step) => {
    say(step.of ? `${step.what}: ${step.done} of ${step.of}` : step.what);
    if (!step.part) return;
    effects.push(step.part);
    effects.sort((one, other) => other[2] - one[2]);
    draw();
  });
  if (found) say(`${found.effects.length} heads, each removed alone.`);
}

/** Weights of one's own are those of one row: at first all on the token that is looked at. */
function offerWeights() {
  const own = byId("what-change").value === "weights";
  byId("what-own").hidden = !own;
  if (!own) return;
  byId("what-place").value = "row";
  byId("what-weights").value = partOf(state.kind).keys.categories.map((_, at) => Number(at === state.key)).join(" ");
}

/** @param {(layer: number, head: number) => void} choose shows another head */
export function offerWhatIf(choose) {
  byId("what-box").hidden = !host.can.includes("what_if") || Boolean(header.second); // which of two?
  byId("what-change").addEventListener("change", offerWeights);
  byId("what-ask").addEventListener("click", () => tryIt(choose));
  byId("what-heads").addEventListener("click", () => eachHead(choose));
}
