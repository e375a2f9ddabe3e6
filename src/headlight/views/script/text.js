// The text itself, coloured by what the chosen tokens give to each token, or are given.
import { level } from "./colours.js";
import { isTwoSided, scaleOf, shown } from "./measures.js";
import { state } from "./state.js";
import { isolated, isTimed, labelOf, namedOf, rowOf, ticksOf, topOf, units, viewOf } from "./units.js";

const text = document.getElementById("text"), target = document.getElementById("target");
const said = document.getElementById("text-title");
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
  const names = [...chosen].filter((at) => at >= 0).map((at) => isolated(namedOf((same ? columns : rows)[at]))).join(" + ");
  said.textContent = state.direction === "to" && same ? `What gives to “${names}”` : `What “${names}” attends to`;
  return given;
}

/** The value of each token, for those who do not see colours. */
export const describe = (given, at) => `${namedOf(units().columns[at])}: ${shown(given[at], state.measure)}`;
