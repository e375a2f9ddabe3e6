// All heads as small maps: in their places, or those first that a statistic is largest for.
import { level, pixelate, rampOf, sharp, variable } from "./colours.js";
import { headIndex, headsOf, isPerLayer, isSpecial, mapOf, need, partOf, pictureOf } from "./numbers.js";
import { headName, state } from "./state.js";
import { isTwoSided, sizesOf } from "./measures.js";

const leading = document.getElementById("leading");
const NAMED = 5, MOST = 48, GAP = 2, MARGIN = 26;
/** Pixels of all small maps together, so that a window has room for them, and of one at least. */
const TALLEST = 620, SMALLEST = 12;
const canvas = document.getElementById("picker");
const frame = document.getElementById("picked");
const hovered = document.getElementById("hovered");
const atlas = document.createElement("canvas");
/** By measure and by what is made of special tokens; made once for each. */
const pictures = new Map();
let places = [];
let shape = { size: 0, high: 0, columns: 1 };
let ranking = null, told = (value) => value.toFixed(2);
/** Width of the overview, until the window or what stands in it changes. */
let room = 0;
export const forgetRoom = () => { room = 0; };

/** Largest sizes of blocks of a map, with special tokens left out while they are not shown. */
function pooledPicture(map, rows, columns) {
  const part = partOf(state.kind);
  const plain = state.special === "shown";
  const faint = (side) => side.tokens.map((_, place) => !plain && isSpecial(state.kind, side, place));
  const out = { rows: faint(part.queries), columns: faint(part.keys) };
  const high = Math.min(rows, MOST), wide = Math.min(columns, MOST);
  const sizes = new Float32Array(high * wide);
  let top = 0;
  for (let row = 0, place = 0; row < rows; row += 1) {
    const line = Math.floor((row * high) / rows) * wide;
    for (let column = 0; column < columns; column += 1, place += 1) {
      const size = Math.abs(map[place]);
      if (!(size > 0) || out.rows[row] || out.columns[column]) continue;
      const at = line + Math.floor((column * wide) / columns);
      if (size > sizes[at]) sizes[at] = size;
      if (size > top) top = size;
    }
  }
  return { rows: high, columns: wide, sizes, top };
}

function brought({ rows, columns, codes, top }) {
  return { rows, columns, sizes: Float32Array.from(codes, (code) => top * (code / 160) ** 2), top };
}

function made(measure = state.measure) {
  const { kind } = state, part = partOf(kind);
  const name = `${kind} ${measure} ${state.special}`;
  if (pictures.has(name)) return pictures.get(name);
  const rows = part.queries.tokens.length, columns = part.keys.tokens.length;
  const list = [];
  part.layers.forEach((_, layer) => {
    for (let head = 0; head < headsOf(kind, measure, layer); head += 1) {
      const small = pictureOf(kind, measure, layer, head);
      list.push({ layer, head, ...(small ? brought(small) : pooledPicture(mapOf(kind, measure, layer, head), rows, columns)) });
    }
  });
  pictures.set(name, list);
  return list;
}

/** Make the pictures of the other measures while nothing else is to be done. */
export function prepare() {
  const waiting = Object.keys(partOf(state.kind).measures);
  const { kind, special } = state;
  const one = () => {
    const measure = waiting.shift();
    if (!measure || state.kind !== kind || state.special !== special) return;
    made(measure);
    window.requestIdleCallback ? requestIdleCallback(one) : setTimeout(one, 50);
  };
  setTimeout(one, 200);
}

/** The largest value of all heads, for one scale of colours. */
export const commonTop = () => made().reduce((most, each) => Math.max(most, each.top), 0) || 1;

export const statisticsOf = () => partOf(state.kind).statistics.filter((each) => each.by[state.measure] && !each.few);

/** Order all heads by a number each; nothing puts them back into their places. */
export function rankBy(numbers, say = (value) => value.toFixed(2)) {
  ranking = numbers;
  told = say;
}

/** The name and the number of the heads that come first, each to be chosen. */
function nameFirst(order) {
  const unit = ranking ? null : statisticsOf().find((each) => each.name === state.sort)?.unit;
  const say = unit === "share" ? (value) => `${Math.round(100 * value)}%` : ranking ? told : (value) => value.toFixed(2);
  leading.hidden = !order.length;
  leading.replaceChildren(...order.filter(({ rank }) => rank > -Infinity).slice(0, NAMED).map(({ layer, head, rank }) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small-button";
    button.dataset.layer = layer;
    button.dataset.head = head;
    button.textContent = `${nameAt(layer, head)} ${say(rank)}`;
    return button;
  }));
}

const nameAt = (layer, head) => (isPerLayer(state.kind, state.measure) ? `layer ${partOf(state.kind).layers[layer]}` : headName(layer, head));

function ranks() {
  if (ranking) return ranking;
  const statistic = statisticsOf().find((each) => each.name === state.sort);
  return statistic ? (layer, head) => statistic.by[state.measure][0][headIndex(state.kind, layer, head)] : null;
}

/** The step of each pixel, 0 to 255, up to the head's own largest or that of all heads. */
function stepsOf(picture, common) {
  const high = common || picture.top || 1; // a map may be 0 everywhere
  if (picture.steps && picture.high === high) return picture.steps;
  picture.high = high;
  picture.steps = Uint8Array.from(picture.sizes, (size) => level(size, high, false));
  return picture.steps;
}

/** All small maps in one image, each at its line and column; some fade. Gives the number of lines. */
function paint(order, columns, fade) {
  const ramp = rampOf(sizesOf(state.measure)), common = state.scale === "common" ? commonTop() : 0;
  const { rows, columns: wide } = order[0].picture, least = 255 * Math.sqrt(state.least);
  const shades = ramp.map((shade, step) => (step < least ? ramp[0] : shade));
  const lines = Math.max(...order.map(({ line }) => line)) + 1;
  pixelate(atlas, wide * columns, rows * lines, (pixels) => {
    pixels.fill(0);
    for (const { picture, line, column, rank } of order) {
      const steps = stepsOf(picture, common), seen = (Math.round(255 * fade(rank)) << 24) | 0xffffff;
      for (let row = 0, at = 0; row < rows; row += 1) {
        let place = ((line * rows + row) * columns + column) * wide;
        for (let end = place + wide; place < end; place += 1, at += 1) pixels[place] = shades[steps[at]] & seen;
      }
    }
  });
  return lines;
}

export function drawOverview() {
  const list = made(), part = partOf(state.kind);
  const columns = isPerLayer(state.kind, state.measure) ? 1 : Math.max(...part.heads);
  room ||= canvas.parentElement.clientWidth;
  const ratio = Math.min(Math.max(part.queries.tokens.length / part.keys.tokens.length, 0.3), 3);
  const fitting = Math.max(TALLEST / (part.layers.length * ratio), SMALLEST);
  const size = Math.min((room - MARGIN) / columns, columns === 1 ? 120 : 64, fitting);
  shape = { size, high: size * ratio, columns };
  const number = ranks();
  const order = list.map((picture) => ({ picture, rank: number ? number(picture.layer, picture.head) ?? -Infinity : 0 }));
  if (number) order.sort((one, other) => other.rank - one.rank);
  const best = number ? Math.max(...order.map((each) => each.rank)) || 1 : 1;
  places = order.map((each, at) => {
    const { layer, head } = each.picture;
    const [line, column] = number ? [Math.floor(at / columns), at % columns] : [layer, head];
    return { ...each, layer, head, line, column, left: MARGIN + column * size, above: MARGIN + line * shape.high };
  });
  const lines = paint(places, columns, (rank) => (number ? 0.25 + 0.75 * Math.max(rank / best, 0) : 1));
  const pen = sharp(canvas, MARGIN + columns * size, MARGIN + lines * shape.high);
  pen.imageSmoothingEnabled = list[0].columns > size;
  pen.drawImage(atlas, MARGIN, MARGIN, columns * size, lines * shape.high);
  for (let column = 1; column <= columns; column += 1) pen.clearRect(MARGIN + column * size - GAP, 0, GAP, MARGIN + lines * shape.high);
  for (let line = 1; line <= lines; line += 1) pen.clearRect(0, MARGIN + line * shape.high - GAP, MARGIN + columns * size, GAP);
  if (!number) labels(pen, part, columns);
  nameFirst(number ? places : []);
  moveFrame();
}

function labels(pen, part, columns) {
  pen.fillStyle = variable("--quiet");
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const skip = shape.size < 15 ? 4 : 1, skipped = shape.high < 13 ? 4 : 1;
  pen.textAlign = "right";
  part.layers.forEach((number, layer) => { if (layer % skipped === 0) pen.fillText(number, MARGIN - 6, MARGIN + (layer + 0.5) * shape.high); });
  pen.textAlign = "center";
  if (columns > 1) for (let head = 0; head < columns; head += skip) pen.fillText(head, MARGIN + (head + 0.5) * shape.size, MARGIN - 10);
}

/** Only the frame moves when another head is chosen. */
export function moveFrame() {
  const own = isPerLayer(state.kind, state.measure) ? 0 : state.head;
  const here = places.find(({ layer, head }) => layer === state.layer && head === own);
  frame.hidden = !here;
  if (!here) return;
  frame.style.transform = `translate(${here.left - 2}px, ${here.above - 2}px)`;
  frame.style.width = `${shape.size + 2}px`;
  frame.style.height = `${shape.high + 2}px`;
}

export const placeOf = (event) => {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  return places.find(({ left, above }) => x >= left && x < left + shape.size && y >= above && y < above + shape.high);
};

/** What is under the pointer: its name, and what it does in this text. */
export function sayHovered(place) {
  if (!place) { hovered.textContent = ""; return; }
  const name = nameAt(place.layer, place.head);
  const most = statisticsOf()
    .filter((each) => each.unit === "share" && each.name !== "other")
    .map((each) => [each.label, each.by[state.measure][0][headIndex(state.kind, place.layer, place.head)] ?? 0])
    .sort((one, other) => other[1] - one[1])
    .slice(0, 2)
    .map(([label, value]) => `${label} ${Math.round(100 * value)}%`);
  hovered.textContent = [name, ...most].join(" · ");
}

/** By how much the picture of each head is like that of one: the cosine of their roots. */
export function likeThis() {
  const list = made(), roots = list.map(({ sizes, top }) => sizes.map((size) => Math.sqrt(size / top)));
  const own = isPerLayer(state.kind, state.measure) ? 0 : state.head;
  const chosen = roots[list.findIndex(({ layer, head }) => layer === state.layer && head === own)];
  const along = (one, other) => one.reduce((sum, value, at) => sum + value * other[at], 0);
  const length = (one) => Math.sqrt(along(one, one)) || 1;
  const found = new Map(list.map(({ layer, head }, at) => [`${layer} ${head}`, along(roots[at], chosen) / (length(roots[at]) * length(chosen))]));
  return (layer, head) => found.get(`${layer} ${head}`);
}

/** What each head has in the cell that is looked at. */
export async function byCell() {
  const { kind, measure, key } = state, width = partOf(kind).keys.tokens.length, [query] = state.queries;
  const found = new Map();
  for (let layer = 0; layer < partOf(kind).layers.length; layer += 1) {
    await need(kind, layer, [measure]);
    for (let head = 0; head < headsOf(kind, measure, layer); head += 1) {
      const value = mapOf(kind, measure, layer, head)[query * width + key] || 0;
      found.set(`${layer} ${head}`, isTwoSided(measure) ? Math.abs(value) : value);
    }
  }
  return (layer, head) => found.get(`${layer} ${head}`);
}
