(() => {
"use strict";
// Pages of texts name a head by its numbers, as their own address does: #h=4-7
function headOf(wanted) {
  const [layer, head] = (wanted.get("h") ?? "").split("-");
  const kind = wanted.has("kind") ? `${wanted.get("kind")}-` : "";
  return wanted.get("head") ?? `${kind}L${layer}H${head}`;
}

// Each kind of attention has a grid of its own; its ids and names begin with its prefix.
document.querySelectorAll("[data-grid]").forEach((root) => {
const prefix = root.dataset.grid, group = prefix.slice(0, -1);
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
  top.append(build("td"), ...measures.map((measure) => build("th", measure, { scope: "col" })));
  const body = table.createTBody();
  inputs("question").forEach((input) => {
    const row = body.insertRow();
    if (input.checked) row.className = "current";
    const label = input.nextElementSibling.textContent;
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

function pointAt(head) {
  document.dispatchEvent(new CustomEvent("headpointed", { detail: { head, group } }));
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
  document.dispatchEvent(new CustomEvent("headchosen", { detail: shown.head }));
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
    pointAt(cell?.id.replace(/^.*-/, ""));
  });
  grid.addEventListener("pointerleave", () => pointAt());
  // A head that is pointed at, here or in a picture, is framed.
  document.addEventListener("headpointed", ({ detail }) => cells.forEach((cell) => {
    cell.classList.toggle("linked", detail.group === group && cell.id === prefix + detail.head);
  }));
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
  document.querySelectorAll('a[href^="#head="]').forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    history.pushState(null, "", link.getAttribute("href"));
    showAddress();
  }));
  // The head of the first finding is shown until another is chosen; else the strongest of the first view.
  const values = data.views[data.first].values, told = [...document.querySelectorAll('a[href^="#head="]')].map((link) => headOf(new URLSearchParams(link.hash.slice(1))));
  const strongest = values.reduce((best, value, index) => (value !== null && (values[best] === null || value > values[best]) ? index : best), 0);
  const place = cells.findIndex(({ id }) => id === told.find((name) => cells.some((cell) => cell.id === name)));
  current = place >= 0 ? place : strongest;
  paintGrid();
  showAddress();
}
});
})();
