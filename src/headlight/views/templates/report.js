"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const chosen = (name) => document.querySelector(`input[name="${name}"]:checked`)?.value ?? "";
const STEPS = 21;

// The head grid -------------------------------------------------------------------------------
const grid = byId("head-grid");
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
    cell.querySelector("title").textContent = `Head ${cell.id}: ${view.texts[index]}`;
    const text = cell.querySelector("text");
    if (text) text.textContent = view.cells[index];
  });
  byId("grid-name").textContent = view.title;
  const scale = byId("grid-scale");
  scale.className = `scale scale-${view.scale}`;
  scale.firstElementChild.textContent = view.ends[0];
  scale.lastElementChild.textContent = view.ends[1];
  const plain = viewName().endsWith(".");
  document.querySelectorAll('input[name="measure"]').forEach((input) => {
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
  document.querySelectorAll('input[name="question"]').forEach((input) => {
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
  panel.replaceChildren(build("h3", `Head ${cells[current].id}`), table);
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
  const input = [...document.querySelectorAll(`input[name="${name}"]`)].find((each) => each.value === value);
  if (input) input.checked = true;
}

function showAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const index = cells.findIndex((cell) => cell.id === wanted.get("head"));
  if (index < 0) return;
  pinned = true;
  current = index;
  check("question", wanted.get("question"));
  check("measure", wanted.get("measure"));
  paintGrid();
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
  document.querySelectorAll('input[name="question"], input[name="measure"]').forEach((input) => input.addEventListener("change", () => { paintGrid(); writeAddress(); }));
  window.addEventListener("hashchange", showAddress);
  // A second click on a link shows its view again, though the address stays the same.
  document.querySelectorAll('a[href^="#head="]').forEach((link) => link.addEventListener("click", (event) => {
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
document.querySelectorAll("[data-variants]").forEach((set) => {
  set.addEventListener("change", (event) => {
    document.getElementById(set.dataset.variants).querySelectorAll("[data-variant]").forEach((panels) => {
      panels.hidden = panels.dataset.variant !== event.target.value;
    });
  });
});

// The name of the nearest dot ------------------------------------------------------------------
const tooltip = byId("tooltip");
const spots = new WeakMap();

function spotsOf(panel) {
  if (!spots.has(panel)) {
    spots.set(panel, [...panel.querySelectorAll(".dots")].flatMap((path) => {
      const names = path.dataset.heads.split("|");
      return [...path.getAttribute("d").matchAll(/M(-?[\d.]+) (-?[\d.]+)/g)].map((match, index) => ({
        x: Number(match[1]), y: Number(match[2]), text: `${path.dataset.series}: ${names[index]}`,
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

function ring(panel, spot) {
  panel.querySelector(".nearest")?.remove();
  if (!spot) return;
  const circle = document.createElementNS(panel.namespaceURI, "circle");
  Object.entries({ class: "nearest", cx: spot.x, cy: spot.y, r: 4.5 }).forEach(([name, value]) => circle.setAttribute(name, value));
  panel.append(circle);
}

document.querySelectorAll(".panel").forEach((panel) => {
  panel.addEventListener("pointermove", (event) => {
    const spot = nearestSpot(panel, event);
    ring(panel, spot);
    tooltip.hidden = !spot;
    if (!spot) return;
    tooltip.textContent = spot.text;
    const left = Math.min(event.clientX + 14, window.innerWidth - tooltip.offsetWidth - 8);
    tooltip.style.left = `${Math.max(left, 8)}px`;
    tooltip.style.top = `${Math.max(event.clientY - tooltip.offsetHeight - 10, 8)}px`;
  });
  panel.addEventListener("pointerleave", () => { tooltip.hidden = true; ring(panel, null); });
});

// Tables ---------------------------------------------------------------------------------------
document.querySelector("[data-columns]")?.addEventListener("change", (event) => {
  document.querySelectorAll("table.sortable").forEach((table) => {
    const shown = [...table.tHead.rows[0].cells].map((head) => !head.dataset.measure || head.dataset.measure === event.target.value);
    [...table.rows].forEach((row) => [...row.cells].forEach((cell, index) => { cell.hidden = !shown[index]; }));
  });
});
})();
