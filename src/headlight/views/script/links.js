// The strongest links: those of a head as a table, and of one or more heads as lines between two columns of tokens.
import { hex, rampOf, sharp, variable } from "./colours.js";
import { isTwoSided, scaleOf, shown } from "./measures.js";
import { state } from "./state.js";
import { chosenRows, isolated, isTimed, namedOf, ticksOf, topOf, units, viewOf } from "./units.js";

const TABLE = 20, ALL = 200, OF_ROW = 24, HIGH = 1400, SIDE = 110, WIDE = 560, TOKEN = 19, FRAME = 5, BINS = 65536;
/** Above and below the columns there is room for letters. */
export const ABOVE = 6;
/** The part of a token's height from which the lines of several heads go out. */
const OF_TOKEN = 0.7;

/** @typedef {[first: number, end: number, step: number]} Cells of a map, row by row */
/** @typedef {{head: number, row: number, column: number, value: number}} Link */

/** @returns {Cells} */
export const ofRow = (row) => { const { length } = units().columns; return [row * length, (row + 1) * length, 1]; };
/** @returns {Cells} */
export const ofColumn = (column) => { const { rows, columns } = units(); return [column, rows.length * columns.length, columns.length]; };
/** @returns {Cells} */
export const ofAll = () => { const { rows, columns } = units(); return [0, rows.length * columns.length, 1]; };

/** What can be drawn of a value: of what is below 0 nothing, unless it is a difference. */
const sizeOf = () => (isTwoSided(state.measure) ? Math.abs : (value) => value);

/**
 * The largest links of some maps, the largest first, found by counting their sizes in bins and not by sorting all of them.
 * Of links of one bin, which differ by less than a page is exact to, those that find room are taken evenly from all.
 * @param {{head: number, view: Float32Array}[]} maps
 * @param {Cells[]} cells in each of them
 * @returns {{links: Link[], of: number, part: number}} of how many links, and which part of their sum these have
 */
export function strongest(maps, cells, number) {
  const { length } = units().columns, size = sizeOf(), least = state.least;
  const top = Math.max(...maps.map(({ view }) => topOf(view))), counts = new Uint32Array(BINS);
  const binOf = (share) => (share < 1 ? Math.floor(Math.sqrt(share) * BINS) : BINS - 1);
  const each = (act) => {
    for (const { head, view } of maps) for (const [first, end, by] of cells) {
      for (let place = first; place < end; place += by) { const share = size(view[place]) / top; if (share > 0) act(share, head, view, place); }
    }
  };
  let of = 0, all = 0;
  each((share) => { of += 1; all += share; if (share >= least) counts[binOf(share)] += 1; });
  let edge = BINS - 1, room = number;
  while (edge > 0 && counts[edge] <= room) { room -= counts[edge]; edge -= 1; }
  const links = [];
  let seen = 0, sum = 0;
  each((share, head, view, place) => {
    const bin = binOf(share);
    if (share < least || bin < edge) return;
    if (bin === edge && Math.floor((seen * room) / counts[edge]) === Math.floor((++seen * room) / counts[edge])) return;
    sum += share;
    links.push({ head, row: Math.floor(place / length), column: place % length, value: view[place] });
  });
  return { links: links.sort((one, other) => size(other.value) - size(one.value)), of, part: all ? sum / all : 1 };
}

const own = (number, rows) => strongest([{ head: state.head, view: viewOf(state.measure) }], rows, number).links;

/** What a unit is called, with its place, from 0, where another is called so too. */
export const told = (list, at) => {
  const name = namedOf(list[at]);
  return list.some((unit, other) => other !== at && namedOf(unit) === name) ? `${name} (${list[at].places[0]})` : name;
};

export function drawTable() {
  const { rows, columns } = units(), body = document.querySelector("#links tbody");
  body.replaceChildren(...own(TABLE, [ofAll()]).map(({ row, column, value }) => {
    const line = document.createElement("tr");
    for (const said of [told(rows, row), told(columns, column), shown(value, state.measure)]) {
      const cell = document.createElement("td");
      cell.textContent = said;
      cell.dir = "auto";
      line.append(cell);
    }
    return line;
  }));
}

/** Two columns of tokens on a canvas, in pixels: where lines begin and end, and how high tokens are. @typedef {{width: number, height: number, left: number, right: number, high: {rows: number, columns: number}}} Columns */

/** @returns {Columns} */
export function columnsIn(width) {
  const { rows, columns } = units(), side = Math.min(SIDE, Math.round(0.29 * width)), number = Math.max(rows.length, columns.length);
  const high = Math.min(TOKEN, Math.max(4, HIGH / number)), timed = isTimed(columns);
  const whole = timed ? Math.min(HIGH, Math.max(FRAME * columns.length, isTimed(rows) ? 0 : TOKEN * rows.length)) : high * number;
  const spread = (list) => (timed ? whole / list.length : high);
  return { width, height: whole + 2 * ABOVE, left: side, right: width - side, high: { rows: spread(rows), columns: spread(columns) } };
}

/** A pen for a canvas with two columns. */
export function penFor(canvas, { width, height }) {
  const pen = sharp(canvas, width, height);
  pen.translate(0, ABOVE);
  return pen;
}

/** Write the tokens, some of them in ink; of tokens that are too narrow for letters, or frames of sound, not all. */
export function writeColumns(pen, { left, right, high }, bold) {
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  for (const [side, x, align] of [["rows", left - 8, "right"], ["columns", right + 8, "left"]]) {
    const list = units()[side], size = high[side], ticks = isTimed(list) ? ticksOf(list, size).map((tick) => Math.round(tick.at)) : null;
    pen.textAlign = align;
    list.forEach((unit, at) => {
      const ink = bold[side]?.includes(at);
      if (!ink && !(ticks ? ticks.includes(at) : at % Math.ceil(11 / size) === 0)) return;
      pen.fillStyle = variable(ink ? "--ink" : "--quiet");
      pen.fillText(isolated(namedOf(unit).slice(0, 16)), x, (at + 0.5) * size, left - 8);
    });
  }
}

/**
 * The largest on top. Where there are several heads each has its own height within a token, so that none hides the others.
 * @param {(link: Link) => string} colourOf
 * @param {{heads?: number, dashed?: boolean}} how dashed: links that are less, of a difference
 */
export function strokeLinks(pen, { left, right, high }, links, top, colourOf, { heads = 1, dashed = false } = {}) {
  const least = heads > 1 ? 0.04 : 0.08, wide = heads > 1 ? 2 : 3.5;
  for (const link of [...links].reverse()) {
    const share = Math.min(Math.abs(link.value) / top, 1), at = 0.5 + OF_TOKEN * ((link.head + 0.5) / heads - 0.5) * (heads > 1);
    pen.strokeStyle = colourOf(link);
    pen.globalAlpha = least + (1 - least) * share;
    pen.lineWidth = 0.5 + wide * share;
    if (dashed) pen.setLineDash(link.value < 0 ? [5, 4] : []);
    pen.beginPath();
    pen.moveTo(left, (link.row + at) * high.rows);
    pen.lineTo(right, (link.column + at) * high.columns);
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

/** The lines of one head: of the tokens that are looked at, or of all. */
export function drawLines(all) {
  const canvas = document.getElementById("lines"), place = columnsIn(Math.min(canvas.parentElement.clientWidth, WIDE));
  const pen = penFor(canvas, place), chosen = chosenRows();
  writeColumns(pen, place, { rows: chosen });
  const ramp = rampOf(scaleOf(state.measure)), twoSided = isTwoSided(state.measure);
  const links = all ? own(ALL, [ofAll()]) : own(OF_ROW, chosen.map(ofRow));
  strokeLinks(pen, place, links, topOf(viewOf(state.measure)), ({ value }) => hex(ramp[twoSided && value < 0 ? 40 : twoSided ? 215 : 190]));
}
