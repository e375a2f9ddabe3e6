// Numbers of heads, decoded from blobs; see the description of the format.
import { header, pageSource } from "./source.js";

const ABSENT = 255, STEPS = 160, MIDDLE = 128, SIGNED_STEPS = 63, KEPT = 64;
const floats = (bytes) => new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
const LEVELS = {
  sqrt: Float32Array.from({ length: 256 }, (_, code) => (code / STEPS) ** 2),
  signed: Float32Array.from({ length: 256 }, (_, code) => Math.sign(code - MIDDLE) * ((code - MIDDLE) / SIGNED_STEPS) ** 2),
};
for (const levels of Object.values(LEVELS)) levels[ABSENT] = NaN;

export const isSpecial = (category) => category === "cls" || category === "sep";
export const partOf = (kind) => header.kinds[kind];
export const measuresOf = (kind) => partOf(kind).measures;
export const isPerLayer = (kind, measure) => measuresOf(kind)[measure].per === "layer";
export const headsOf = (kind, measure, layer) => (isPerLayer(kind, measure) ? 1 : partOf(kind).heads[layer]);

const layers = new Map();

/** All blobs of a kind, so that everything after is immediate. */
export async function loadKind(kind, source = pageSource) {
  const part = partOf(kind);
  const get = async (name) => layers.set(name, await source.get(name));
  const names = [];
  part.layers.forEach((_, layer) => {
    for (const [measure, about] of Object.entries(part.measures)) {
      const name = `${kind}/${measure}/${layer}`;
      if (about.from) continue;
      names.push(`${name}/scale`, `${name}/codes`);
      if (about.cells !== null) names.push(`${name}/keys`, `${name}/picture`);
      for (const [dense, head] of about.dense) if (dense === layer) names.push(`${name}/${head}`);
    }
    if (Object.values(part.measures).some((about) => about.from?.includes("vector_norm"))) names.push(`${kind}/vector_norm/${layer}/codes`);
  });
  await Promise.all(names.filter((name) => !layers.has(name)).map(get));
}

const shapeOf = (kind) => [partOf(kind).queries.tokens.length, partOf(kind).keys.tokens.length];

function stored(kind, measure, layer, head) {
  const about = measuresOf(kind)[measure], name = `${kind}/${measure}/${layer}`;
  const [rows, columns] = shapeOf(kind), levels = LEVELS[about.code];
  const scale = floats(layers.get(`${name}/scale`)).subarray(head * rows, (head + 1) * rows);
  const whole = layers.get(`${name}/${head}`);
  const found = new Float32Array(rows * columns);
  if (about.cells === null || whole) {
    const codes = whole ?? layers.get(`${name}/codes`).subarray(head * rows * columns, (head + 1) * rows * columns);
    for (let row = 0, place = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1, place += 1) found[place] = levels[codes[place]] * scale[row];
    }
    return found;
  }
  const cells = Math.min(about.cells, columns), first = head * rows * cells;
  const keys = new Uint16Array(layers.get(`${name}/keys`).buffer), codes = layers.get(`${name}/codes`);
  found.fill(NaN);
  for (let row = 0, place = first; row < rows; row += 1) {
    for (let cell = 0; cell < cells; cell += 1, place += 1) found[row * columns + keys[place]] = levels[codes[place]] * scale[row];
  }
  return found;
}

function product(kind, sources, layer, head) {
  const weight = mapOf(kind, "weight", layer, head);
  if (sources.length === 1) return weight;
  const columns = shapeOf(kind)[1];
  const lengths = floats(layers.get(`${kind}/vector_norm/${layer}/codes`)).subarray(head * columns, (head + 1) * columns);
  return weight.map((value, place) => value * lengths[place % columns]);
}

const recent = new Map();

/** The map of a head, row by row; NaN where nothing is known. */
export function mapOf(kind, measure, layer, head) {
  const name = `${kind}/${measure}/${layer}/${head}`;
  let found = recent.get(name);
  if (found) recent.delete(name);
  else {
    const { from } = measuresOf(kind)[measure];
    found = from ? product(kind, from, layer, head) : stored(kind, measure, layer, head);
  }
  recent.set(name, found);
  if (recent.size > KEPT) recent.delete(recent.keys().next().value);
  return found;
}

/** The small map of a head that the page brings along; nothing where it has the whole one. */
export function pictureOf(kind, measure, layer, head) {
  const picture = layers.get(`${kind}/${measuresOf(kind)[measure].from?.[0] ?? measure}/${layer}/picture`);
  if (!picture) return null;
  const [rows, columns] = shapeOf(kind).map((length) => Math.min(length, 48));
  return { rows, columns, codes: picture.subarray(head * rows * columns, (head + 1) * rows * columns) };
}
