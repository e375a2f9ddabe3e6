// Numbers of heads, decoded from blobs; see the description of the format.
import { header, source } from "./host.js";

const ABSENT = 255, STEPS = 160, MIDDLE = 128, SIGNED_STEPS = 63, KEPT = 64, ROOM = 256e6;
const floats = (bytes) => new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
const LEVELS = {
  sqrt: Float32Array.from({ length: 256 }, (_, code) => (code / STEPS) ** 2),
  signed: Float32Array.from({ length: 256 }, (_, code) => Math.sign(code - MIDDLE) * ((code - MIDDLE) / SIGNED_STEPS) ** 2),
};
for (const levels of Object.values(LEVELS)) levels[ABSENT] = NaN;

/** Whether a token is hidden with the special ones: of a decoder the first one is, which heads attend to for want of others. */
export const isSpecial = (kind, side, place) => ["cls", "sep"].includes(side.categories[place]) || (kind === "decoder" && textPlace(side, place) === 0);
/** The place of a token in its text, of which some queries may be left out. */
export const textPlace = (side, at) => side.places?.[at] ?? at;
export const partOf = (kind) => header.kinds[kind];
export const measuresOf = (kind) => partOf(kind).measures;
export const isPerLayer = (kind, measure) => measuresOf(kind)[measure].per === "layer";
/** The place of a head among the numbers of statistics. */
export const headIndex = (kind, layer, head) => partOf(kind).heads.slice(0, layer).reduce((sum, number) => sum + number, head);
export const headsOf = (kind, measure, layer) => (isPerLayer(kind, measure) ? 1 : partOf(kind).heads[layer]);

const blobs = new Map(), pending = new Map();
let held = 0, looked = "";

const layerOf = (name) => name.replace(/^(.*)\/.*\/(\d+)\/.*$/, "$1 $2");

/** Let go of what was fetched longest ago, but for pictures and the layer that is looked at. */
function makeRoom() {
  for (const [name, bytes] of blobs) {
    if (held <= ROOM) return;
    if (name.endsWith("/picture") || layerOf(name) === looked) continue;
    blobs.delete(name);
    held -= bytes.length;
  }
}

function fetched(name) {
  if (!pending.has(name)) {
    pending.set(name, source.get(name).then((bytes) => {
      blobs.set(name, bytes);
      held += bytes.length;
      if (header.live) makeRoom();
    }).finally(() => pending.delete(name)));
  }
  return pending.get(name);
}

/** What of a measure is stored: itself, or what it is made of. */
function storedOf(kind, measure) {
  const about = measuresOf(kind)[measure], parts = about?.from ?? about?.less;
  return parts ? parts.flatMap((part) => storedOf(kind, part)) : [measure];
}

/** The blobs that hold all cells of a layer, by some measures or all. */
function cellBlobs(kind, layer, measures = Object.keys(measuresOf(kind))) {
  const names = new Set();
  for (const measure of measures.flatMap((name) => storedOf(kind, name))) {
    const about = measuresOf(kind)[measure], name = `${kind}/${measure}/${layer}`;
    names.add(`${name}/codes`);
    if (!about) continue; // lengths of vectors
    names.add(`${name}/scale`);
    if (about.cells !== null) names.add(`${name}/keys`);
    for (const [dense, head] of about.dense) if (dense === layer) names.add(`${name}/${head}`);
  }
  return [...names];
}

export const isThere = (kind, layer, measure) => cellBlobs(kind, layer, [measure]).every((name) => blobs.has(name));

/** Fetch what a layer lacks, of some measures or all; null where it lacks nothing. */
export function need(kind, layer, measures) {
  if (!measures) looked = `${kind} ${layer}`;
  const missing = cellBlobs(kind, layer, measures).filter((name) => !blobs.has(name));
  return missing.length ? Promise.all(missing.map(fetched)) : null;
}

/** Ask for the layers beside one, so that they are there when they are looked at. */
export function needAround(kind, layer) {
  const measures = Object.keys(measuresOf(kind));
  for (const near of [layer + 1, layer - 1]) if (near in partOf(kind).layers) need(kind, near, measures)?.catch(() => {});
}

/** Pictures of all heads, and, but for a live view, all cells, so that everything after is immediate. */
export async function loadKind(kind) {
  const part = partOf(kind), names = [];
  part.layers.forEach((_, layer) => {
    for (const [measure, about] of Object.entries(part.measures)) {
      if (about.largest && about.from?.length !== 1) names.push(`${kind}/${measure}/${layer}/picture`);
    }
    if (!header.live) names.push(...cellBlobs(kind, layer));
  });
  await Promise.all(names.filter((name) => !blobs.has(name)).map(fetched));
}

const shapeOf = (kind) => [partOf(kind).queries.tokens.length, partOf(kind).keys.tokens.length];

function stored(kind, measure, layer, head) {
  const about = measuresOf(kind)[measure], name = `${kind}/${measure}/${layer}`;
  const [rows, columns] = shapeOf(kind), levels = LEVELS[about.code];
  const scale = floats(blobs.get(`${name}/scale`)).subarray(head * rows, (head + 1) * rows);
  const whole = blobs.get(`${name}/${head}`);
  const found = new Float32Array(rows * columns);
  if (about.cells === null || whole) {
    const codes = whole ?? blobs.get(`${name}/codes`).subarray(head * rows * columns, (head + 1) * rows * columns);
    for (let row = 0, place = 0; row < rows; row += 1) {
      const unit = scale[row];
      for (const end = place + columns; place < end; place += 1) found[place] = levels[codes[place]] * unit;
    }
    return found;
  }
  const cells = Math.min(about.cells, columns), first = head * rows * cells;
  const keys = new Uint16Array(blobs.get(`${name}/keys`).buffer), codes = blobs.get(`${name}/codes`);
  found.fill(NaN);
  for (let row = 0, place = first; row < rows; row += 1) {
    const before = row * columns, unit = scale[row];
    for (const end = place + cells; place < end; place += 1) found[before + keys[place]] = levels[codes[place]] * unit;
  }
  return found;
}

function product(kind, sources, layer, head) {
  const weight = mapOf(kind, sources[0], layer, head);
  if (sources.length === 1) return weight;
  const columns = shapeOf(kind)[1];
  const lengths = floats(blobs.get(`${kind}/${sources[1]}/${layer}/codes`)).subarray(head * columns, (head + 1) * columns);
  const found = new Float32Array(weight.length);
  for (let first = 0; first < found.length; first += columns) {
    for (let column = 0; column < columns; column += 1) found[first + column] = weight[first + column] * lengths[column];
  }
  return found;
}

function difference(kind, [one, other], layer, head) {
  const less = mapOf(kind, other, layer, head);
  return mapOf(kind, one, layer, head).map((value, place) => value - less[place]);
}

const recent = new Map();

/** The map of a head, row by row; NaN where nothing is known. */
export function mapOf(kind, measure, layer, head) {
  const name = `${kind}/${measure}/${layer}/${head}`;
  let found = recent.get(name);
  if (!found && !isThere(kind, layer, measure)) return new Float32Array(shapeOf(kind)[0] * shapeOf(kind)[1]).fill(NaN);
  if (found) recent.delete(name);
  else {
    const { from, less } = measuresOf(kind)[measure];
    if (less) found = difference(kind, less, layer, head);
    else found = from ? product(kind, from, layer, head) : stored(kind, measure, layer, head);
  }
  recent.set(name, found);
  if (recent.size > KEPT) recent.delete(recent.keys().next().value);
  return found;
}

/** The small map of a head that was brought along; nothing where the whole one was. */
export function pictureOf(kind, measure, layer, head) {
  const { from, largest } = measuresOf(kind)[measure];
  const picture = blobs.get(`${kind}/${from?.length === 1 ? from[0] : measure}/${layer}/picture`);
  if (!picture) return null;
  const [rows, columns] = shapeOf(kind).map((length) => Math.min(length, 48));
  return { rows, columns, top: largest[layer][head], codes: picture.subarray(head * rows * columns, (head + 1) * rows * columns) };
}
