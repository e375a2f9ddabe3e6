"use strict";
// Pages of texts name a head by its numbers, as their own address does: #h=4-7
function headOf(wanted) {
  const [layer, head] = (wanted.get("h") ?? "").split("-");
  const kind = wanted.has("kind") ? `${wanted.get("kind")}-` : "";
  return wanted.get("head") ?? `${kind}L${layer}H${head}`;
}

// Each kind of attention is a survey of its own; its ids and names begin with its prefix.
document.querySelectorAll("[data-survey]").forEach((root) => {
const prefix = root.dataset.survey;
const byId = (id) => document.getElementById(prefix + id);
const data = JSON.parse(byId("data").textContent);
const inputs = (name) => [...root.querySelectorAll(`input[name="${prefix}${name}"]`)];
const chosen = (name) => inputs(name).find((input) => input.checked)?.value ?? "";
const nameOf = (cell) => cell.id.replace("-", " ");
const STEPS = 21;

// The head grid -------------------------------------------------------------------------------
const grid = root.querySelector(".head-grid");
const cells = grid ? [...grid.querySelectorAll(".cell")] : [];
let current = 0;
let pinned = false;

// A question without measures is stored as "question."; one whose measure is missing, as its first.
function viewName() {
  const question = chosen("question");
  const wanted = `${question}.${chosen("measure")}`;
  if (data.views[wanted]) return wanted;
  return Object.keys(data.views).find((name) => name.startsWith(`${question}.`));
}

function step(value, view) {
  if (value === null) return "none";
  const share = view.high > view.low ? (value - view.low) / (view.high - view.low) : 0;
  return `q${Math.round(Math.min(Math.max(share, 0), 1) * (STEPS - 1))}`;
}

function paintGrid() {
  const view = data.views[viewName()];
  const dense = grid.classList.contains("dense") ? " dense" : "";
  grid.setAttribute("class", `head-grid scale-${view.scale}${dense}`);
  grid.setAttribute("aria-label", `${view.title}: ${data.layers} layers by ${data.heads} heads`);
  cells.forEach((cell, index) => {
    cell.setAttribute("class", `cell ${step(view.values[index], view)}${index === current ? " chosen" : ""}`);
    cell.querySelector("title").textContent = `Head ${nameOf(cell)}: ${view.texts[index]}`;
    const text = cell.querySelector("text");
    if (text) text.textContent = view.cells[index];
  });
  byId("grid-name").textContent = view.title;
  byId("grid-help").textContent = view.help;
  const scale = byId("grid-scale");
  scale.className = `scale scale-${view.scale}`;
  scale.firstElementChild.textContent = view.ends[0];
  scale.lastElementChild.textContent = view.ends[1];
  const plain = viewName().endsWith(".");
  inputs("measure").forEach((input) => {
    input.disabled = plain || !data.views[`${chosen("question")}.${input.value}`];
  });
  showDetail();
}

function build(tag, text, attributes = {}) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  return node;
}

// Every number of one head, beside the grid.
function showDetail() {
  const panel = byId("detail");
  const measures = data.measures.filter((m) => Object.keys(data.views).some((name) => name.endsWith(`.${m}`)));
  const table = build("table");
  const top = table.createTHead().insertRow();
  top.append(build("th"), ...measures.map((measure) => build("th", measure, { scope: "col" })));
  const body = table.createTBody();
  inputs("question").forEach((input) => {
    const row = body.insertRow();
    if (input.checked) row.className = "current";
    const label = input.nextElementSibling.textContent.replace(/^to (the )?/, "").replace(/ tokens?$/, "");
    row.append(build("th", label, { scope: "row" }));
    const plain = data.views[`${input.value}.`];
    if (plain) {
      const cell = build("td", plain.texts[current]);
      cell.colSpan = measures.length;
      row.append(cell);
    } else {
      measures.forEach((m) => row.append(build("td", (data.views[`${input.value}.${m}`]?.texts[current] ?? "–").replace(" nats", ""))));
    }
  });
  panel.replaceChildren(build("h3", `Head ${nameOf(cells[current])}`), table);
}

function choose(index) {
  current = index;
  cells.forEach((cell, i) => cell.classList.toggle("chosen", i === index));
  showDetail();
}

function moveChoice(event) {
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -data.heads, ArrowDown: data.heads };
  if (!(event.key in moves)) return;
  event.preventDefault();
  const next = current + moves[event.key];
  if (next < 0 || next >= cells.length) return;
  choose(next);
  writeAddress();
}

// The address says what is shown, so that a view can be shared: #head=NAME&question=sep&measure=norm
function writeAddress() {
  const shown = { head: cells[current].id, question: chosen("question"), measure: chosen("measure") };
  history.replaceState(null, "", `#${new URLSearchParams(shown)}`);
}

function check(name, value) {
  const input = inputs(name).find((each) => each.value === value);
  if (input) input.checked = true;
}

function showAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const index = cells.findIndex((cell) => cell.id === headOf(wanted));
  if (index < 0) return;
  pinned = true;
  current = index;
  check("question", wanted.get("question"));
  check("measure", wanted.get("measure"));
  paintGrid();
  root.dispatchEvent(new CustomEvent("wanted", { bubbles: true }));
  byId("grid-view").scrollIntoView();
}

if (grid) {
  grid.addEventListener("pointerover", (event) => {
    const cell = event.target.closest(".cell");
    if (cell && !pinned) choose(cells.indexOf(cell));
  });
  grid.addEventListener("click", (event) => {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    pinned = !(pinned && cells.indexOf(cell) === current);
    choose(cells.indexOf(cell));
    writeAddress();
  });
  grid.setAttribute("tabindex", "0");
  grid.addEventListener("keydown", (event) => { pinned = true; moveChoice(event); });
  [...inputs("question"), ...inputs("measure")].forEach((input) => input.addEventListener("change", () => { paintGrid(); writeAddress(); }));
  window.addEventListener("hashchange", showAddress);
  // A second click on a link shows its view again, though the address stays the same.
  root.querySelectorAll('a[href^="#head="]').forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    history.pushState(null, "", link.getAttribute("href"));
    showAddress();
  }));
  // The strongest head of the first view is shown until another is chosen.
  const values = data.views[data.first].values;
  current = values.reduce((best, value, index) => (value !== null && (values[best] === null || value > values[best]) ? index : best), 0);
  paintGrid();
  showAddress();
}

// Figures with several sets of panels ----------------------------------------------------------
root.querySelectorAll("[data-variants]").forEach((set) => {
  set.addEventListener("change", (event) => {
    document.getElementById(set.dataset.variants).querySelectorAll("[data-variant]").forEach((panels) => {
      panels.hidden = panels.dataset.variant !== event.target.value;
    });
  });
});

// Tables ---------------------------------------------------------------------------------------
root.querySelector("[data-columns]")?.addEventListener("change", (event) => {
  root.querySelectorAll("table.sortable").forEach((table) => {
    const shown = [...table.tHead.rows[0].cells].map((head) => !head.dataset.measure || head.dataset.measure === event.target.value);
    [...table.rows].forEach((row) => [...row.cells].forEach((cell, index) => { cell.hidden = !shown[index]; }));
  });
});
});

(() => {
// One kind at a time; without a script all stand one below the other ----------------------------
const choice = document.querySelector("[data-kinds]");
const surveys = [...document.querySelectorAll("[data-survey]")];
function showKind(kind) {
  surveys.forEach((root) => { root.hidden = root.dataset.kind !== kind; });
  choice.querySelector(`input[value="${kind}"]`).checked = true;
}
if (choice) {
  choice.addEventListener("change", (event) => showKind(event.target.value));
  surveys.forEach((root) => root.addEventListener("wanted", () => showKind(root.dataset.kind)));
  const wanted = () => document.getElementById(location.hash.slice(1))?.closest("[data-survey]");
  const follow = () => { const root = wanted(); if (root) { showKind(root.dataset.kind); document.getElementById(location.hash.slice(1)).scrollIntoView(); } };
  window.addEventListener("hashchange", follow);
  const head = document.getElementById(headOf(new URLSearchParams(location.hash.slice(1))));
  const shown = head ?? wanted();
  showKind((shown?.closest("[data-survey]") ?? surveys[0]).dataset.kind);
  (head?.closest(".grid-view") ?? shown)?.scrollIntoView();
}

// The name of the nearest dot ------------------------------------------------------------------
const tooltip = document.getElementById("tooltip");
const spots = new WeakMap();

function spotsOf(panel) {
  if (!spots.has(panel)) {
    spots.set(panel, [...panel.querySelectorAll(".dots")].flatMap((path) => {
      const names = path.dataset.heads.split("|");
      const { survey, kind } = panel.closest("[data-survey]").dataset;
      return [...path.getAttribute("d").matchAll(/M(-?[\d.]+) (-?[\d.]+)/g)].map((match, index) => ({
        x: Number(match[1]), y: Number(match[2]), head: names[index].split(" ")[0],
        text: `${path.dataset.series}: ${survey && `${kind} `}${names[index]}`,
      }));
    }));
  }
  return spots.get(panel);
}

function nearestSpot(panel, event) {
  const box = panel.getBoundingClientRect();
  const scale = panel.viewBox.baseVal.width / box.width;
  const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
  let best = null, least = 12 ** 2;
  for (const spot of spotsOf(panel)) {
    const distance = (spot.x - x) ** 2 + (spot.y - y) ** 2;
    if (distance < least) { least = distance; best = spot; }
  }
  return best;
}

function circled(panel, spot, nearest) {
  const circle = document.createElementNS(panel.namespaceURI, "circle");
  const about = { class: spot === nearest ? "nearest" : "nearest same", cx: spot.x, cy: spot.y, r: 4.5 };
  Object.entries(about).forEach(([name, value]) => circle.setAttribute(name, value));
  panel.append(circle);
}

// A head that is pointed at is ringed in every panel of its kind, and framed in the grid.
function ring(root, head, nearest) {
  root.querySelectorAll(".nearest").forEach((circle) => circle.remove());
  root.querySelectorAll(".cell.linked").forEach((cell) => cell.classList.remove("linked"));
  if (!head) return;
  root.querySelectorAll(".panels:not([hidden]) .panel").forEach((panel) => {
    spotsOf(panel).forEach((spot) => { if (spot.head === head) circled(panel, spot, nearest); });
  });
  const { survey, kind } = root.dataset;
  document.getElementById(`${survey && `${kind}-`}${head}`)?.classList.add("linked");
}

surveys.forEach((root) => root.querySelector(".head-grid")?.addEventListener("pointerover", (event) => {
  ring(root, event.target.closest(".cell")?.id.replace(/^.*-/, ""));
}));
document.querySelectorAll(".panel").forEach((panel) => {
  const root = panel.closest("[data-survey]");
  let shown = null;
  panel.addEventListener("pointermove", (event) => {
    const spot = nearestSpot(panel, event);
    if (spot !== shown) ring(root, spot?.head, spot);
    shown = spot;
    tooltip.hidden = !spot;
    if (!spot) return;
    tooltip.textContent = spot.text;
    const left = Math.min(event.clientX + 14, window.innerWidth - tooltip.offsetWidth - 8);
    tooltip.style.left = `${Math.max(left, 8)}px`;
    tooltip.style.top = `${Math.max(event.clientY - tooltip.offsetHeight - 10, 8)}px`;
  });
  panel.addEventListener("pointerleave", () => { tooltip.hidden = true; shown = null; ring(root); });
});

})();
