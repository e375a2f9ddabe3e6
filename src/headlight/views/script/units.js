// Rows and columns as they are shown: pieces or words, with special tokens or without; and sums of them.
import { isPerLayer, isSpecial, isThere, mapOf, measuresOf, partOf } from "./numbers.js";
import { header } from "./host.js";
import { DIFFERENCE, state } from "./state.js";

/** @typedef {{mark: "" | " " | "##", text: string, raw: string, places: number[], special: boolean, of: "both" | "first" | "second", time?: number}} Unit of which text it is; of a frame of sound when it begins */

const SIGNS = { both: "", first: "− ", second: "+ " };
/** A unit by itself: what goes on with a word says so. */
export const labelOf = ({ mark, text }) => (mark === "##" ? `##${text}` : text);
/** What a unit is called beside others: with a sign where only one of two texts has it. */
export const namedOf = (unit) => `${SIGNS[unit.of]}${labelOf(unit)}`;

// A token in its own direction, whatever stands around it; ## before Hebrew stands at its right.
export const isolated = (token) => `\u2068${token}\u2069`;

/** @returns {Unit[]} */
function unitsOf(side) {
  const { tokens, texts, marks, words, of, times } = side;
  const special = (place) => isSpecial(state.kind, side, place);
  const found = [];
  tokens.forEach((token, place) => {
    if (state.special === "out" && special(place)) return;
    const last = found.at(-1);
    if (state.unit === "words" && words[place] >= 0 && last?.word === words[place]) last.places.push(place);
    else found.push({ places: [place], word: words[place], special: special(place), of: of?.[place] ?? "both", time: times?.[place] });
  });
  for (const unit of found) {
    unit.mark = marks[unit.places[0]];
    unit.text = unit.places.map((place, at) => (at && marks[place] === " " ? " " : "") + texts[place]).join("");
    unit.raw = unit.places.map((place) => tokens[place]).join(" ");
  }
  return found;
}

/** Whether a side is sound, which has an axis of time in place of a label for each frame. */
export const isTimed = (list) => list[0]?.time !== undefined;

const STEPS_OF_TIME = [0.5, 1, 2, 5, 10], APART = 34;

/** Where the ticks of an axis of time stand, in frames, and what they are called; a frame is `size` pixels wide. */
export function ticksOf(list, size) {
  const frame = list.length > 1 ? list[1].time - list[0].time : 1, last = list.at(-1).time + frame;
  const step = STEPS_OF_TIME.find((each) => (each / frame) * size >= APART) ?? STEPS_OF_TIME.at(-1);
  const first = Math.ceil(list[0].time / step - 1e-6);
  return Array.from({ length: Math.max(Math.floor(last / step + 1e-6) - first + 1, 0) }, (_, at) => {
    const time = (first + at) * step;
    return { at: (time - list[0].time) / frame, name: `${time}` };
  });
}

let known = { name: "" };

/** What rows and columns are, and which of them a piece belongs to. */
export function units() {
  const name = `${state.kind} ${state.unit} ${state.special}`;
  if (known.name === name) return known;
  const { queries, keys } = partOf(state.kind);
  const rows = unitsOf(queries), columns = unitsOf(keys);
  const of = (list, length) => {
    const found = new Int32Array(length).fill(-1);
    list.forEach((unit, at) => unit.places.forEach((place) => { found[place] = at; }));
    return found;
  };
  const same = JSON.stringify(queries.tokens) === JSON.stringify(keys.tokens) && state.kind !== "cross";
  known = { name, rows, columns, rowOf: of(rows, queries.tokens.length), columnOf: of(columns, keys.tokens.length), same };
  return known;
}

/** Sums over the keys of a column, and means over the queries of a row. */
function pooled(map) {
  const { rows, columns, columnOf } = units();
  const width = partOf(state.kind).keys.tokens.length;
  const found = new Float32Array(rows.length * columns.length).fill(NaN);
  rows.forEach((unit, row) => {
    for (const query of unit.places) {
      for (let key = 0; key < width; key += 1) {
        const column = columnOf[key], value = map[query * width + key];
        if (column < 0 || Number.isNaN(value)) continue;
        const place = row * columns.length + column;
        found[place] = (Number.isNaN(found[place]) ? 0 : found[place]) + value / unit.places.length;
      }
    }
  });
  return found;
}

const sharesOf = (map, width) => {
  const found = new Float32Array(map.length);
  for (let first = 0; first < map.length; first += width) {
    let sum = 0;
    for (let place = first; place < first + width; place += 1) if (map[place] > 0) sum += map[place];
    for (let place = first; place < first + width; place += 1) found[place] = sum ? map[place] / sum : map[place];
  }
  return found;
};

/** By how much a measure, as shares of its rows, differs from the weight: of the measure that is looked at, or the norm. */
export const differs = () => {
  const names = Object.keys(measuresOf(state.kind));
  if (header.second) return null;
  const wanted = state.measure !== "weight" && !isPerLayer(state.kind, state.measure) ? state.measure : "norm";
  return names.includes("weight") && names.includes(wanted) ? wanted : null;
};

/** @type {Map<string, Float32Array>} */
const views = new Map();

/** The map of a head as it is shown, row by row. */
export function viewOf(measure, layer = state.layer, head = state.head) {
  const { name } = units();
  const own = measure === DIFFERENCE ? differs() : measure;
  const place = isPerLayer(state.kind, own) ? 0 : head;
  const key = `${name} ${measure} ${own} ${layer} ${place}`;
  let found = views.get(key);
  if (found) return found;
  const plain = state.unit === "pieces" && state.special !== "out";
  const width = partOf(state.kind).keys.tokens.length;
  if (measure === DIFFERENCE) {
    const other = sharesOf(mapOf(state.kind, own, layer, place), width);
    const weight = mapOf(state.kind, "weight", layer, place);
    found = other.map((value, at) => value - weight[at]);
  } else found = mapOf(state.kind, measure, layer, place);
  if (!plain) found = pooled(found);
  const whole = [own, ...(measure === DIFFERENCE ? ["weight"] : [])].every((name) => isThere(state.kind, layer, name));
  if (!whole) return found; // while it is fetched
  views.set(key, found);
  if (views.size > 32) views.delete(views.keys().next().value);
  return found;
}

/** The largest size in a map that is coloured; special tokens are not counted while they are faint. */
export function topOf(view) {
  const { name } = units(), before = tops.get(view);
  if (before?.name === name) return before.top;
  const top = (state.special === "faint" ? largestPlain(view) : largestOf(view)) || 1;
  tops.set(view, { name, top });
  return top;
}

/** @type {WeakMap<Float32Array, {name: string, top: number}>} */
const tops = new WeakMap();

/** Of numbers that are not known a comparison is false. */
function largestOf(view) {
  let most = 0, least = 0;
  for (let place = 0; place < view.length; place += 1) {
    const value = view[place];
    if (value > most) most = value;
    if (value < least) least = value;
  }
  return Math.max(most, -least);
}

function largestPlain(view) {
  const { rows, columns } = units();
  let most = 0;
  rows.forEach((row, at) => {
    if (row.special) return;
    for (let column = 0; column < columns.length; column += 1) {
      if (columns[column].special) continue;
      const size = Math.abs(view[at * columns.length + column]);
      if (size > most) most = size;
    }
  });
  return most;
}

/** The rows that are looked at. */
export const chosenRows = () => [...new Set(state.queries.map((query) => units().rowOf[query]).filter((row) => row >= 0))];

/** What the chosen rows give together, or with the direction "to" what each row gives to the chosen columns. */
export function rowOf(view) {
  const { rows, columns, columnOf, same } = units();
  const turned = state.direction === "to" && same;
  const list = turned ? [...new Set(state.queries.map((query) => columnOf[query]).filter((column) => column >= 0))] : chosenRows();
  return Float32Array.from({ length: turned ? rows.length : columns.length }, (_, at) => {
    let sum = NaN;
    for (const each of list) {
      const value = turned ? view[at * columns.length + each] : view[each * columns.length + at];
      if (!Number.isNaN(value)) sum = (Number.isNaN(sum) ? 0 : sum) + value;
    }
    return sum;
  });
}
