// The text itself, coloured by what the chosen tokens give to each token, or are given.
import { level } from "./colours.js";
import { isTwoSided, scaleOf, shown } from "./measures.js";
import { mapOf, partOf } from "./numbers.js";
import { state } from "./state.js";
import { isolated, isTimed, labelOf, namedOf, rowOf, ticksOf, topOf, units, viewOf } from "./units.js";

const text = document.getElementById("text"), target = document.getElementById("target");
const said = document.getElementById("text-title"), bySegment = document.getElementById("by-segment");
/** How many looks there are, and pixels of a frame of sound, as the style sheet has it. */
const LOOKS = 20, FRAME_WIDE = 5;
let built = "";
/** The buttons, and what each looks like now: only what is another one is touched. */
let words = [], looks = [], presses = [];

const button = (unit, at) => {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = unit.time === undefined ? labelOf(unit) || " " : "";
  if (unit.raw !== labelOf(unit) || unit.time !== undefined) element.title = unit.raw;
  if (unit.mark === " ") element.classList.add("begins");
  element.dir = "auto";
  element.dataset.unit = String(at);
  if (unit.of !== "both") element.dataset.of = unit.of;
  element.tabIndex = at ? -1 : 0;
  return element;
};

function build() {
  const { name, rows, columns, same } = units();
  if (built === name) return;
  built = name;
  words = columns.map(button);
  const { segments } = partOf(state.kind).keys;
  if (segments) {
    columns.forEach(({ places: [place] }, at) => {
      const before = at && segments[columns[at - 1].places[0]];
      if (segments[place] !== before) words[at].dataset.segment = segments[place];
    });
  }
  if (isTimed(columns)) {
    for (const { at, name: time } of ticksOf(columns, FRAME_WIDE)) {
      const place = Math.round(at);
      if (words[place]) words[place].dataset.tick = `${time} s`;
    }
  }
  const targets = same ? [] : rows.map(button);
  text.replaceChildren(...words);
  target.hidden = same;
  target.replaceChildren(...targets);
  looks = words.map(() => "");
  presses = (same ? words : targets).map((element) => ({ element, pressed: null }));
}

/** Which share of the row of each chosen query goes to each segment, hidden tokens included; their means. */
function sharesOfSegments() {
  const { segments } = partOf(state.kind).keys, names = [...new Set(segments)];
  const map = mapOf(state.kind, state.measure, state.layer, state.head), wide = segments.length;
  const rows = state.queries.map((query) => {
    const sums = names.map((name) => segments.reduce((sum, each, key) => sum + (each === name ? map[query * wide + key] || 0 : 0), 0));
    const whole = sums.reduce((sum, each) => sum + each, 0);
    return sums.map((each) => each / whole);
  });
  return names.map((name, at) => [name, rows.reduce((sum, row) => sum + row[at], 0) / rows.length]);
}

function drawSegments() {
  const shares = partOf(state.kind).keys.segments && state.direction === "from" && !isTwoSided(state.measure) ? sharesOfSegments() : [];
  const told = shares.filter(([, share]) => share >= 0.0005).sort((one, other) => other[1] - one[1]);
  bySegment.hidden = !told.length;
  bySegment.textContent = `By segment: ${told.map(([name, share]) => `${name} ${(100 * share).toFixed(1)}%`).join(" · ")}`;
}

export function drawText() {
  build();
  const { rows, columns, columnOf, rowOf: ofRow, same } = units();
  const view = viewOf(state.measure), given = rowOf(view);
  const faint = (at) => state.special === "faint" && columns[at].special;
  const twoSided = isTwoSided(state.measure), size = (value) => (twoSided ? Math.abs(value) : value);
  const top = given.reduce((most, value, at) => (size(value) > most && !faint(at) ? size(value) : most), 0) || topOf(view);
  const chosen = new Set(state.queries.map((query) => (same ? columnOf : ofRow)[query]));
  const least = state.least * top;
  text.className = `tokens scale-${scaleOf(state.measure)}${isTimed(columns) ? " sound" : ""}`;
  words.forEach((element, at) => {
    const value = size(given[at]) < least ? 0 : given[at];
    const step = Math.round((level(value, top, twoSided) / 255) * LOOKS);
    const look = `${columns[at].mark === " " ? "begins " : ""}${Number.isNaN(given[at]) ? "none" : `q${step}`}${faint(at) ? " faint" : ""}`;
    if (looks[at] === look) return;
    looks[at] = look;
    element.className = look;
  });
  presses.forEach((each, at) => {
    if (each.pressed === chosen.has(at)) return;
    each.pressed = chosen.has(at);
    each.element.setAttribute("aria-pressed", each.pressed);
  });
  drawSegments();
  const names = [...chosen].filter((at) => at >= 0).map((at) => isolated(namedOf((same ? columns : rows)[at]))).join(" + ");
  said.textContent = state.direction === "to" && same ? `What gives to “${names}”` : `What “${names}” attends to`;
  return given;
}

/** The value of each token, for those who do not see colours. */
export const describe = (given, at) => `${namedOf(units().columns[at])}: ${shown(given[at], state.measure)}`;
