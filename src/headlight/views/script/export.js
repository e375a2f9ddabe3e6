// Export: pictures, numbers, a line of Python, and a link that restores the whole view.
import { header, host } from "./host.js";
import { variable } from "./colours.js";
import { isPerLayer, measuresOf, partOf } from "./numbers.js";
import { baseOf, DIFFERENCE, headName, layerNumber, state, written } from "./state.js";
import { chosenRows, isTimed, labelOf, namedOf, rowOf, ticksOf, units, viewOf } from "./units.js";
import { colourOf, panelNames, topFor } from "./panels.js";
import { isTwoSided, shortOf, shown } from "./measures.js";

const escaped = (text) => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`).replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, "�");
const CELL = 16, FRAME = 4, LEFT = 100, ABOVE = 100, BELOW = 36, LONGEST = 16, STEPS = 20, SHARP = 2, MOST = 8000;
const cut = (text) => escaped(text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** The scale of a map: its colours, and what the ends stand for. */
function scaleAt(x, y, measure, top) {
  const twoSided = isTwoSided(measure), wide = 8 * (STEPS + 1);
  const steps = Array.from({ length: STEPS + 1 }, (_, at) => {
    const part = twoSided ? (2 * at) / STEPS - 1 : at / STEPS;
    return `<path d="M${x + 8 * at} ${y}h8v8h-8z" fill="${colourOf(Math.sign(part) * part ** 2 * top, measure, top)}"/>`;
  });
  const end = shown(top, measure);
  const least = twoSided ? shown(-top, measure) : "0";
  return `${steps.join("")}<text x="${x}" y="${y + 20}">${escaped(least)}</text><text x="${x + wide}" y="${y + 20}" text-anchor="end">${escaped(end)}</text>`;
}

/** The maps that are shown, side by side with their scales, as a picture of lines and letters; and its size. */
function drawing() {
  const { rows, columns } = units(), across = isTimed(columns) ? FRAME : CELL, high = isTimed(rows) ? FRAME : CELL;
  const wide = LEFT + Math.max(across * columns.length, 8 * (STEPS + 1)) + 20;
  const parts = panelNames().map((measure, number) => {
    const view = viewOf(measure), top = topFor(measure, view), x = number * wide;
    const cells = rows.flatMap((_, row) => columns.map((_each, column) => {
      const value = view[row * columns.length + column];
      if (Number.isNaN(value)) return "";
      return `<rect x="${x + LEFT + column * across}" y="${ABOVE + row * high}" width="${isTimed(columns) ? across : across - 1}" height="${isTimed(rows) ? high : high - 1}" fill="${colourOf(value, measure, top)}" data-value="${Number(value.toPrecision(4))}"/>`;
    }));
    const names = [
      `<text x="${x + LEFT}" y="14" font-weight="600">${escaped(`${measure !== DIFFERENCE && isPerLayer(state.kind, measure) ? `layer ${layerNumber()}` : headName()} ${shortOf(measure)}`)}</text>`,
      ...(isTimed(rows)
        ? ticksOf(rows, high).map(({ at, name }) => `<text x="${x + LEFT - 5}" y="${ABOVE + at * high + 4}" text-anchor="end">${name} s</text>`)
        : rows.map((unit, row) => `<text x="${x + LEFT - 5}" y="${ABOVE + row * CELL + 12}" text-anchor="end">${cut(namedOf(unit))}</text>`)),
      ...(isTimed(columns)
        ? ticksOf(columns, across).map(({ at, name }) => `<text x="${x + LEFT + at * across}" y="${ABOVE - 5}">${name} s</text>`)
        : columns.map((unit, column) => `<text transform="translate(${x + LEFT + column * CELL + 12} ${ABOVE - 5}) rotate(-90)">${cut(namedOf(unit))}</text>`)),
    ];
    return [...names, ...cells, scaleAt(x + LEFT, ABOVE + high * rows.length + 8, measure, top)].join("");
  });
  const width = parts.length * wide, height = ABOVE + high * rows.length + BELOW;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="11" fill="${variable("--ink")}" style="background: ${variable("--page")}">${parts.join("")}</svg>`;
  return { svg, width, height };
}

export const asSvg = () => drawing().svg;

/** The same picture in pixels, twice as sharp as on paper of that size. */
export async function asPng() {
  const { svg, width, height } = drawing(), picture = new Image(), whole = document.createElement("canvas");
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
  const by = Math.min(SHARP, MOST / Math.max(width, height));
  whole.width = Math.round(by * width);
  whole.height = Math.round(by * height);
  whole.getContext("2d").drawImage(picture, 0, 0, whole.width, whole.height);
  return new Promise((done) => { whole.toBlob(done, "image/png"); });
}

const BLANKS = { "␣": "\\textvisiblespace{}", "↵": "$\\hookleftarrow$", "␍": "$\\leftarrow$", "⇥": "$\\rightarrow$" };
const SPECIAL = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };

/** The coloured text, for LaTeX with the package xcolor. */
export function asLatex() {
  const { columns } = units(), view = viewOf(state.measure), given = rowOf(view);
  const size = (value) => (isTwoSided(state.measure) ? Math.abs(value) : value);
  const top = given.reduce((most, value) => (size(value) > most ? size(value) : most), 0) || 1;
  const boxes = columns.map((unit, at) => {
    const word = labelOf(unit).replace(/[#$%&_{}]/g, "\\$&").replace(/[\\~^]/g, (letter, place, whole) => (/[#$%&_{}]/.test(whole[place + 1] ?? "") && letter === "\\" ? letter : SPECIAL[letter])).replace(/[␣↵␍⇥]/g, (letter) => BLANKS[letter]);
    return `\\colorbox[HTML]{${colourOf(Number.isNaN(given[at]) ? 0 : given[at], state.measure, top).slice(1).toUpperCase()}}{\\strut ${word}}`;
  });
  // Blanks as in the text: before each piece that has one, or that does not go on with a word.
  const marked = columns.some((unit) => unit.mark === " ") && state.unit === "pieces";
  const text = boxes.map((box, at) => (at && (marked ? columns[at].mark === " " : columns[at].mark !== "##") ? ` ${box}` : box)).join("");
  return `% \\usepackage{xcolor}\n{\\setlength{\\fboxsep}{1pt}${text}}\n`;
}

/** The numbers of the head that is shown, by every measure, as they are shown. */
export function asJson() {
  const { rows, columns } = units();
  const numbers = Object.keys(measuresOf(state.kind)).map((measure) => {
    const view = viewOf(measure);
    return [measure, rows.map((_, row) => Array.from(view.subarray(row * columns.length, (row + 1) * columns.length), (value) => (Number.isNaN(value) ? null : Number(value.toPrecision(4)))))];
  });
  return JSON.stringify({
    model: header.model, text: header.text, pair: header.pair, ...(header.second ? { second: header.second } : {}), kind: state.kind, layer: partOf(state.kind).layers[state.layer], head: state.head,
    bounds: Object.fromEntries(Object.entries(measuresOf(state.kind)).map(([name, about]) => [name, about.bound])),
    rows: rows.map(namedOf), columns: columns.map(namedOf), chosen: chosenRows(), ...Object.fromEntries(numbers),
  });
}

const quoted = (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The exact numbers in Python; of a difference those of both readings. */
export function asPython() {
  const { measure } = state, second = header.second && linesOf(header.second);
  if (measure.endsWith("-difference")) return `first = ${linesOf(header)}\nsecond = ${second}`;
  return measure.endsWith("-second") ? second : linesOf(header);
}

function linesOf({ model, text, pair: other }) {
  const pair = other ? `, ${quoted(other)}` : "", layer = partOf(state.kind).layers[state.layer];
  const several = Object.keys(header.kinds).length > 1 || state.kind !== "encoder" ? `, kind=${quoted(state.kind)}` : "";
  const head = measuresOf(state.kind)[state.measure].per === "head" ? `, head=${state.head}` : "";
  return `headlight.load(${quoted(model)}).read(${quoted(text)}${pair}${several})[${quoted(baseOf(state.measure))}].sel(layer=${layer}${head})`;
}

export const asLink = () => host.link(`#${written()}`);

export function offer(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
