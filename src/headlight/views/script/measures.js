// How each measure is called, drawn and written; the buttons of the page say so.
import { header } from "./host.js";
import { DIFFERENCE, state } from "./state.js";
import { differs } from "./units.js";

const about = new Map([...document.querySelectorAll('input[name="measure"]')].map((input) => [input.value, { short: input.nextElementSibling.textContent, ...input.dataset }]));

export const scaleOf = (measure) => (measure === DIFFERENCE ? "change" : about.get(measure).scale);
/** Of the size of what may be below 0. */
export const sizesOf = (measure) => about.get(measure).sizes;
export const isTwoSided = (measure) => scaleOf(measure) === "change";
export const isPercent = (measure) => measure === DIFFERENCE || about.get(measure).percent === "yes";
export const shortOf = (measure) => (measure === DIFFERENCE ? `${about.get(differs() ?? state.measure).short} − weight` : about.get(measure).short);
export const explanationOf = (measure) => about.get(measure).explanation;

export function shown(value, measure) {
  if (value === null || value === undefined || Number.isNaN(value)) return header.second ? "not there" : "not kept";
  if (!isPercent(measure)) return `${isTwoSided(measure) && value > 0 ? "+" : ""}${Number(value.toPrecision(2))}`;
  const sign = isTwoSided(measure) && value > 0 ? "+" : "";
  return `${sign}${(100 * value).toFixed(Math.abs(value) < 0.0995 ? 1 : 0)}%`;
}
