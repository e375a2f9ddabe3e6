"use strict";
(() => {
const everything = JSON.parse(document.getElementById("reading").textContent);
const kinds = everything.kinds ?? { "": everything };
let reading = Object.values(kinds)[0];
const byId = (id) => document.getElementById(id);
const STEPS = 21;
let queries = reading.queries.tokens, keys = reading.keys.tokens;
const state = { layer: 0, head: 0, measure: null, query: 0, key: 0, pinned: false };

// Each measure of the page says at its button how it is drawn.
const measured = () => {
  const button = document.querySelector('input[name="measure"]:checked');
  return { name: button.value, ...button.dataset };
};
const perLayer = () => state.measure.heads === "together";
const table = (layer, head) => perLayer() ? reading[state.measure.name][layer] : reading[state.measure.name][layer][head];
const largest = (rows) => rows.reduce((most, row) => row.reduce((m, v) => (v !== null && v > m ? v : m), most), 0);

// A token in its own direction, whatever stands around it; ## before Hebrew stands at its right.
const isolated = (token) => `\u2068${token}\u2069`;

// Each map is coloured up to its own maximum, so that its pattern can be seen.
const top = (rows) => largest(rows) || 1;
const step = (value, high) => Math.round(Math.min(Math.max(value / high, 0), 1) * (STEPS - 1));
const shown = (value) => value === null ? "not observed" : state.measure.percent === "yes" ? `${(100 * value).toFixed(1)}%` : String(Number(value.toPrecision(3)));

function colours() {
  const style = getComputedStyle(document.documentElement);
  const name = state.measure.scale;
  return {
    ramp: Array.from({ length: STEPS }, (_, i) => style.getPropertyValue(`--${name}-${i}`).trim()),
    none: style.getPropertyValue("--none").trim(), ink: style.getPropertyValue("--ink").trim(),
    quiet: style.getPropertyValue("--quiet").trim(), card: style.getPropertyValue("--card").trim(),
  };
}

function sharp(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return pen;
}

// The heat map ---------------------------------------------------------------------------------
const place = { size: 20, left: 0, top: 0 };
const shortened = (pen, text, most) => {
  if (pen.measureText(text).width <= most) return isolated(text);
  let cut = text;
  while (cut.length > 1 && pen.measureText(`${cut}…`).width > most) cut = cut.slice(0, -1);
  return isolated(`${cut}…`);
};

function measureMap() {
  const pen = byId("cells").getContext("2d");
  pen.font = "13px system-ui, sans-serif";
  const widest = (tokens) => Math.min(110, Math.max(...tokens.map((t) => pen.measureText(t).width)));
  place.left = Math.ceil(widest(queries)) + 16;
  place.top = Math.ceil(widest(keys)) + 16;
  const room = byId("map").clientWidth - place.left - 8;
  place.size = Math.floor(Math.min(34, Math.max(15, room / keys.length)));
}

function drawMap() {
  measureMap();
  const { size, left, top: above } = place;
  const width = left + size * keys.length + 8, height = above + size * queries.length + 8;
  const pen = sharp(byId("cells"), width, height);
  const paint = colours(), rows = table(state.layer, state.head), high = top(rows);
  rows.forEach((row, q) => row.forEach((value, k) => {
    pen.fillStyle = value === null ? paint.none : paint.ramp[step(value, high)];
    pen.fillRect(left + k * size, above + q * size, size - 1, size - 1);
  }));
  pen.font = "13px system-ui, sans-serif";
  pen.textBaseline = "middle";
  queries.forEach((token, q) => {
    pen.fillStyle = q === state.query ? paint.ink : paint.quiet;
    pen.font = `${q === state.query ? "600 " : ""}13px system-ui, sans-serif`;
    pen.textAlign = "right";
    pen.fillText(shortened(pen, token, 110), left - 7, above + (q + 0.5) * size);
  });
  keys.forEach((token, k) => {
    pen.save();
    pen.fillStyle = k === state.key ? paint.ink : paint.quiet;
    pen.font = `${k === state.key ? "600 " : ""}13px system-ui, sans-serif`;
    pen.translate(left + (k + 0.5) * size, above - 7);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "left";
    pen.fillText(shortened(pen, token, 110), 0, 0);
    pen.restore();
  });
  pen.strokeStyle = paint.ink;
  pen.lineWidth = 1.5;
  pen.strokeRect(left - 1, above + state.query * size - 1, keys.length * size + 1, size + 1);
  pen.lineWidth = 2.5;
  pen.strokeRect(left + state.key * size, above + state.query * size, size - 1, size - 1);
}

function cellAt(event) {
  const box = byId("cells").getBoundingClientRect();
  const k = Math.floor((event.clientX - box.left - place.left) / place.size);
  const q = Math.floor((event.clientY - box.top - place.top) / place.size);
  return { q, k, row: q >= 0 && q < queries.length, column: k >= 0 && k < keys.length };
}

// The text, coloured ---------------------------------------------------------------------------
function drawTokens() {
  const rows = table(state.layer, state.head), high = largest([rows[state.query]]) || 1;
  byId("keys").className = `tokens scale-${state.measure.scale}`;
  byId("keys-title").textContent = `What “${isolated(queries[state.query])}” attends to`;
  [...byId("queries").children].forEach((button, q) => button.setAttribute("aria-pressed", q === state.query));
  [...byId("keys").children].forEach((button, k) => {
    const value = rows[state.query][k];
    button.className = value === null ? "none" : `q${step(value, high)}`;
    button.setAttribute("aria-pressed", k === state.key);
    button.title = `${isolated(queries[state.query])} → ${isolated(keys[k])}: ${shown(value)}`;
  });
}

function drawReadout() {
  const value = table(state.layer, state.head)[state.query][state.key];
  byId("readout").replaceChildren();
  const strong = document.createElement("b");
  strong.textContent = shown(value);
  byId("readout").append(`${isolated(queries[state.query])} → ${isolated(keys[state.key])}  `, strong);
}

// All heads ------------------------------------------------------------------------------------
function picture(rows, paint) {
  const small = document.createElement("canvas");
  small.width = keys.length; small.height = queries.length;
  const pen = small.getContext("2d"), high = top(rows);
  rows.forEach((row, q) => row.forEach((value, k) => {
    pen.fillStyle = value === null ? paint.none : paint.ramp[step(value, high)];
    pen.fillRect(k, q, 1, 1);
  }));
  return small;
}

function pickerShape() {
  const columns = perLayer() ? 1 : reading.heads;
  const width = byId("picker").parentElement.clientWidth;
  const margin = 22;
  const size = Math.min((Math.min(width, 420) - margin) / columns, 60);
  // As high as the map is, beside its width: a target may be half as long as its source.
  return { columns, margin, size, high: size * Math.min(Math.max(queries.length / keys.length, 0.3), 3) };
}

function drawPicker() {
  const { columns, margin, size, high } = pickerShape();
  const pen = sharp(byId("picker"), margin + columns * size + 1, margin + reading.layers * high + 1);
  const paint = colours();
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = paint.quiet;
  pen.textBaseline = "middle";
  const skip = size < 14 ? 4 : 1;
  for (let layer = 0; layer < reading.layers; layer += 1) {
    pen.textAlign = "right";
    if (layer % skip === 0) pen.fillText(reading.layer_numbers[layer], margin - 6, margin + (layer + 0.5) * high);
    for (let head = 0; head < columns; head += 1) {
      pen.imageSmoothingEnabled = keys.length > size;
      pen.drawImage(picture(table(layer, head), paint), margin + head * size, margin + layer * high, size - 2, high - 2);
    }
  }
  pen.textAlign = "center";
  if (!perLayer()) for (let head = 0; head < columns; head += skip) pen.fillText(head, margin + (head + 0.5) * size, margin - 10);
  pen.strokeStyle = paint.ink;
  pen.lineWidth = 2;
  pen.strokeRect(margin + (perLayer() ? 0 : state.head) * size - 1, margin + state.layer * high - 1, size, high);
}

// Together -------------------------------------------------------------------------------------
function drawRow() { drawMap(); drawTokens(); drawReadout(); }

function drawAll() {
  byId("layer").value = state.layer;
  byId("head").value = state.head;
  byId("head").disabled = perLayer();
  byId("explanation").textContent = state.measure.explanation;
  const layer = reading.layer_numbers[state.layer];
  byId("map-title").textContent = perLayer() ? `${kindName()}Layer ${layer}, all heads together` : `Head ${kindName()}L${layer}H${state.head}`;
  byId("picker-title").textContent = perLayer() ? "All layers" : "All heads";
  byId("picker-help").hidden = perLayer();
  const scale = byId("scale");
  scale.className = `scale scale-${state.measure.scale}`;
  scale.firstElementChild.textContent = "0";
  scale.lastElementChild.textContent = shown(top(table(state.layer, state.head)));
  drawRow();
  drawPicker();
}

function tokenButtons(box, tokens, click) {
  box.replaceChildren(...tokens.map((token, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = token;
    button.dir = "auto";
    button.addEventListener("click", () => click(index));
    return button;
  }));
}

const kindName = () => (everything.kinds ? `${reading.kind} ` : "");
const numbered = (select, labels) => select.replaceChildren(...labels.map((label, index) => new Option(label, index)));

// Encoder and decoder may have different layers and heads, and read different texts.
function useKind(name) {
  reading = kinds[name];
  queries = reading.queries.tokens;
  keys = reading.keys.tokens;
  Object.assign(state, { layer: 0, head: 0, query: 0, key: 0, pinned: false });
  numbered(byId("layer"), reading.layer_numbers);
  numbered(byId("head"), [...Array(reading.heads).keys()]);
  tokenButtons(byId("queries"), queries, (index) => { state.query = index; state.pinned = true; drawRow(); });
  tokenButtons(byId("keys"), keys, (index) => { state.key = index; drawRow(); });
  if (reading.kind === "cross") {
    byId("tokens-title").textContent = "The target, from one token, and the source";
    byId("direction").textContent = "Rows are the target, which attends; columns are the source, which is attended to.";
  } else {
    byId("tokens-title").textContent = "The text, from one token";
    byId("direction").textContent = "Rows attend, columns are attended to.";
  }
}
useKind(Object.keys(kinds)[0]);
byId("kind")?.addEventListener("change", (event) => { useKind(event.target.value); drawAll(); });
byId("layer").addEventListener("change", (event) => { state.layer = Number(event.target.value); drawAll(); });
byId("head").addEventListener("change", (event) => { state.head = Number(event.target.value); drawAll(); });
document.querySelectorAll('input[name="measure"]').forEach((input) => input.addEventListener("change", () => { state.measure = measured(); drawAll(); }));

byId("cells").addEventListener("pointermove", (event) => {
  const { q, k, row, column } = cellAt(event);
  if (!row || !column) return;
  if (!state.pinned) state.query = q;
  if (state.pinned && q !== state.query) return;
  state.key = k;
  drawRow();
});
byId("cells").addEventListener("click", (event) => {
  const { q, k, row, column } = cellAt(event);
  if (!row) return;
  state.pinned = !(state.pinned && q === state.query);
  state.query = q;
  if (column) state.key = k;
  drawRow();
});
byId("map").addEventListener("keydown", (event) => {
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  if (!(event.key in moves)) return;
  event.preventDefault();
  const [down, right] = moves[event.key];
  state.query = Math.min(Math.max(state.query + down, 0), queries.length - 1);
  state.key = Math.min(Math.max(state.key + right, 0), keys.length - 1);
  drawRow();
});
byId("picker").addEventListener("click", (event) => {
  const { columns, margin, size, high } = pickerShape();
  const box = byId("picker").getBoundingClientRect();
  const head = Math.floor((event.clientX - box.left - margin) / size), layer = Math.floor((event.clientY - box.top - margin) / high);
  if (head < 0 || head >= columns || layer < 0 || layer >= reading.layers) return;
  state.layer = layer;
  if (!perLayer()) state.head = head;
  drawAll();
});
document.addEventListener("themechange", drawAll);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
window.addEventListener("resize", drawAll);
state.measure = measured();
drawAll();
})();
