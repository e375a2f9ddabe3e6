// The text itself, coloured by what the chosen tokens give to each token, or are given.
import { hex, level, rampOf } from "./colours.js";
import { scaleOf, shown } from "./measures.js";
import { state } from "./state.js";
import { isolated, rowOf, topOf, units, viewOf } from "./units.js";

const text = document.getElementById("text"), target = document.getElementById("target");
const said = document.getElementById("text-title");
let built = "";

const button = (unit, at) => {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = unit.label || " ";
  element.dir = "auto";
  element.dataset.unit = String(at);
  element.tabIndex = at ? -1 : 0;
  return element;
};

function build() {
  const { name, rows, columns, same } = units();
  if (built === name) return;
  built = name;
  text.replaceChildren(...columns.map(button));
  target.hidden = same;
  target.replaceChildren(...(same ? [] : rows.map(button)));
}

const linear = (channel) => (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4);

// Dark or light letters, whichever stand out more (Web Content Accessibility Guidelines 2.1).
const textOn = (colour) => {
  const [red, green, blue] = [1, 3, 5].map((at) => linear(parseInt(colour.slice(at, at + 2), 16) / 255));
  const bright = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (bright + 0.05) / 0.05 > 1.05 / (bright + 0.05) ? "#000000" : "#ffffff";
};

export function drawText() {
  build();
  const { rows, columns, columnOf, rowOf: ofRow, same } = units();
  const view = viewOf(state.measure), given = rowOf(view);
  const ramp = rampOf(scaleOf(state.measure));
  const faint = (at) => state.special === "faint" && columns[at].special;
  const top = given.reduce((most, value, at) => (value > most && !faint(at) ? value : most), 0) || topOf(view);
  const chosen = new Set(state.queries.map((query) => (same ? columnOf : ofRow)[query]));
  const pressed = same ? text : target;
  const least = state.least * top;
  [...text.children].forEach((element, at) => {
    const step = Number.isNaN(given[at]) ? 256 : given[at] < least ? 0 : level(given[at], top, false);
    const look = `${ramp[step]} ${faint(at)}`;
    if (element.dataset.look === look) return;
    element.dataset.look = look;
    const colour = hex(ramp[step]);
    element.style.cssText = `background:${colour};color:${textOn(colour)}${faint(at) ? ";opacity:.4" : ""}`;
  });
  [...pressed.children].forEach((element, at) => element.setAttribute("aria-pressed", chosen.has(at)));
  const names = [...chosen].filter((at) => at >= 0).map((at) => isolated((same ? columns : rows)[at].label)).join(" + ");
  said.textContent = state.direction === "to" && same ? `What gives to ${names}` : `What ${names} attends to`;
  return given;
}

/** The value of each token, for those who do not see colours. */
export const describe = (given, at) => `${units().columns[at].label}: ${shown(given[at], state.measure)}`;
