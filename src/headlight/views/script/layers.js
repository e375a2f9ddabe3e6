// One token through all layers: what it gives to each token, the mean over the heads of a layer.
import { level, rampOf, sharp, variable } from "./colours.js";
import { headsOf, need, partOf } from "./numbers.js";
import { isTwoSided, scaleOf } from "./measures.js";
import { state } from "./state.js";
import { isolated, namedOf, rowOf, units, viewOf } from "./units.js";

const HIGH = 18, MARGIN = 30;

/** The mean over heads of what is given to each token. */
function throughLayer(layer) {
  const number = headsOf(state.kind, state.measure, layer);
  let sum = null;
  for (let head = 0; head < number; head += 1) {
    const given = rowOf(viewOf(state.measure, layer, head)).map((value) => (Number.isNaN(value) ? 0 : value / number));
    sum = sum ? sum.map((value, at) => value + given[at]) : given;
  }
  return sum;
}

let turn = 0;

/** Layer by layer, since each may have to be fetched; unless it is to be drawn again meanwhile. */
export async function drawLayers() {
  turn += 1;
  const own = turn, found = [], of = `${state.kind} ${state.measure}`;
  for (let layer = 0; layer < partOf(state.kind).layers.length; layer += 1) {
    const waiting = need(state.kind, layer, [state.measure]);
    if (waiting) await waiting;
    if (own !== turn || of !== `${state.kind} ${state.measure}`) return;
    found.push(throughLayer(layer));
  }
  draw(found);
}

function draw(found) {
  const canvas = document.getElementById("layers-map"), { rows, columns, same } = units();
  const twoSided = isTwoSided(state.measure), list = state.direction === "to" && same ? rows : columns;
  const top = Math.max(...found.map((row) => row.reduce((most, value) => Math.max(most, twoSided ? Math.abs(value) : value), 0))) || 1;
  const wide = (canvas.parentElement.clientWidth - MARGIN) / list.length;
  const labelled = wide >= 13, above = labelled ? 84 : 4;
  const pen = sharp(canvas, MARGIN + wide * list.length, above + HIGH * found.length);
  const small = document.createElement("canvas");
  small.width = list.length; small.height = found.length;
  const image = new ImageData(list.length, found.length), pixels = new Uint32Array(image.data.buffer), ramp = rampOf(scaleOf(state.measure));
  found.forEach((row, layer) => row.forEach((value, at) => { pixels[layer * list.length + at] = ramp[level(value, top, twoSided)]; }));
  small.getContext("2d").putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, MARGIN, above, wide * list.length, HIGH * found.length);
  pen.fillStyle = variable("--quiet");
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  partOf(state.kind).layers.forEach((number, layer) => pen.fillText(number, MARGIN - 6, above + (layer + 0.5) * HIGH));
  if (!labelled) return;
  pen.textAlign = "left";
  list.forEach((unit, at) => {
    pen.save();
    pen.translate(MARGIN + (at + 0.5) * wide, above - 5);
    pen.rotate(-Math.PI / 2);
    pen.fillText(isolated(namedOf(unit).slice(0, 12)), 0, 0);
    pen.restore();
  });
}
