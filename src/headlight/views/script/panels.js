// The maps of one head side by side, with one cursor for all of them.
import { hex, level, levels, pixelate, rampOf, sharp, variable } from "./colours.js";
import { measuresOf } from "./numbers.js";
import { DIFFERENCE, state } from "./state.js";
import { explanationOf, isPercent, isTwoSided, scaleOf, shortOf, shown } from "./measures.js";
import { chosenRows, differs, isolated, isTimed, namedOf, ticksOf, topOf, units, viewOf } from "./units.js";
import { commonTop } from "./overview.js";

const box = document.getElementById("panels");
/** Cells below this many pixels have no labels; maps of at most this many tokens get room for them, side by side or not. */
const LETTERS = 11, LABELLED = 7, ROOMY = 9.5, MANY = 42, LONGEST = 100, FAINT = 0x50ffffff;
/** Of sound: pixels of a row of words, of the axes of time, and of a map at least, where there is room. */
const ROW = 16, TIME_LEFT = 30, TIME_ABOVE = 22, LONG = 560, TICK = 4;
const small = document.createElement("canvas");
/** @type {{measure: string, wide: number, high: number, left: number, above: number, element: HTMLElement}[]} */
let panels = [];
/** Widths of the maps, until the window or what stands in it changes: to ask costs a layout of the page. */
let rooms = [];
export const forgetRooms = () => { rooms = []; };

export const panelNames = () => {
  const there = Object.keys(measuresOf(state.kind));
  return [...there, ...(differs() ? [DIFFERENCE] : [])].filter((name) => state.panels.includes(name));
};

export const topFor = (measure, view) => (state.scale === "common" && measure === state.measure ? commonTop() : topOf(view));

const shortened = (pen, text, most) => {
  let cut = text.slice(0, 60);
  if (cut === text && pen.measureText(text).width <= most) return isolated(text);
  while (cut.length > 1 && pen.measureText(`${cut}…`).width > most) cut = cut.slice(0, -1);
  return isolated(`${cut}…`);
};

let margins = { name: "", widths: [0, 0] };

/** Room for the labels of rows and columns; measured once for a text. */
function marginsOf(pen) {
  const { name, rows, columns } = units();
  if (margins.name !== name) margins = { name, widths: [widest(pen, rows), widest(pen, columns)] };
  return margins.widths;
}

const widest = (pen, list) => Math.ceil(Math.min(LONGEST, Math.max(...list.map((unit) => pen.measureText(namedOf(unit).slice(0, 60)).width)))) + 12;

function build() {
  const names = panelNames();
  if (box.dataset.names === `${state.kind} ${names}`) return;
  box.dataset.names = `${state.kind} ${names}`;
  forgetRooms();
  const template = document.getElementById("panel");
  box.replaceChildren(...names.map((measure) => {
    const element = template.content.cloneNode(true).firstElementChild;
    element.dataset.measure = measure;
    element.title = measure === DIFFERENCE ? "Both as shares of their rows" : explanationOf(measure);
    return element;
  }));
}

/** @type {WeakMap<Float32Array, {top: number, steps: Uint16Array}>} */
const known = new WeakMap();

/** The step of each cell; found once for a map. */
function stepsOf(view, top, twoSided) {
  const before = known.get(view);
  if (before?.top === top) return before.steps;
  const steps = levels(view, top, twoSided);
  known.set(view, { top, steps });
  return steps;
}

/** The map itself: a pixel for each cell. */
function image(view, measure, rows, columns, top) {
  const ramp = rampOf(scaleOf(measure)), twoSided = isTwoSided(measure);
  const least = Math.sqrt(state.least), middle = twoSided ? 127.5 : 0, reach = twoSided ? 127.5 : 255;
  const shades = !least ? ramp : ramp.map((shade, step) => (step < 256 && Math.abs(step - middle) < least * reach ? ramp[Math.round(middle)] : shade));
  const steps = stepsOf(view, top, twoSided);
  return pixelate(small, columns.length, rows.length, (pixels) => {
    for (let place = 0; place < steps.length; place += 1) pixels[place] = shades[steps[place]];
    if (state.special !== "faint") return;
    pixels.forEach((shade, place) => {
      if (rows[Math.floor(place / columns.length)].special || columns[place % columns.length].special) pixels[place] = shade & FAINT;
    });
  });
}

/** What each map was drawn of, and where its cells are. @type {WeakMap<HTMLCanvasElement, object>} */
const drawnOf = new WeakMap();

/** Draw a map, unless it would be drawn of the same: to paint it costs more than all else. */
function drawPanel(element, wide) {
  const { measure } = element.dataset, canvas = element.querySelector("canvas"), view = viewOf(measure);
  const of = { view, wide, top: topFor(measure, view), ramp: rampOf(scaleOf(measure)), units: units().name, least: state.least, ratio: window.devicePixelRatio };
  const before = drawnOf.get(canvas);
  if (before && Object.keys(of).every((name) => of[name] === before[name])) return before.panel;
  const panel = drawMap(element, canvas, of);
  drawnOf.set(canvas, { ...of, panel });
  return panel;
}

function drawMap(element, canvas, { view, wide, top }) {
  const { measure } = element.dataset, { rows, columns } = units();
  const pen = canvas.getContext("2d");
  pen.font = "11px system-ui, sans-serif";
  const room = wide - 2;
  const widths = marginsOf(pen);
  const place = isTimed(columns) ? placeOfTime(room, widths, rows, columns) : placeOfCells(room, widths, columns);
  const { left, above, wide: across, high } = place;
  const drawn = sharp(canvas, left + across * columns.length, above + high * rows.length);
  drawn.imageSmoothingEnabled = across < 1;
  drawn.drawImage(image(view, measure, rows, columns, top), left, above, across * columns.length, high * rows.length);
  if (left) label(drawn, rows, columns, place);
  element.querySelector(".top").textContent = isTwoSided(measure) ? `± ${shown(top, measure).replace("+", "")}` : shown(top, measure);
  return { measure, ...place, element };
}

/** Square cells; without labels where they are too small for them. */
function placeOfCells(room, widths, columns) {
  let size = Math.min((room - widths[0]) / columns.length, 34);
  const labelled = size >= LABELLED;
  const [left, above] = labelled ? widths : [0, 0];
  if (!labelled) size = room / columns.length;
  if (size >= 12 && labelled) size = Math.floor(size);
  return { left, above, wide: size, high: size };
}

/** Frames as narrow as they have to be; rows of words can be read, rows of frames are as narrow. */
function placeOfTime(room, widths, rows, columns) {
  const left = isTimed(rows) ? TIME_LEFT : widths[0], wide = Math.min((room - left) / columns.length, ROW);
  return { left, above: TIME_ABOVE, wide, high: isTimed(rows) ? wide : ROW };
}

/** Ticks of time, on the left or above. */
function labelTimes(pen, list, { left, above, size, down }) {
  pen.strokeStyle = variable("--quiet");
  for (const { at, name } of ticksOf(list, size)) {
    const along = (down ? above : left) + at * size;
    pen.beginPath();
    if (down) { pen.moveTo(left - TICK, along); pen.lineTo(left, along); } else { pen.moveTo(along, above - TICK); pen.lineTo(along, above); }
    pen.stroke();
    pen.textAlign = down ? "right" : at ? "center" : "left";
    if (down) pen.fillText(name, left - TICK - 2, Math.max(along, above + 5)); else pen.fillText(at ? name : `${name} s`, along, above - TICK - 8);
  }
}

function label(pen, rows, columns, { left, above, wide: size, high }) {
  pen.fillStyle = variable("--quiet");
  pen.font = `${LETTERS}px system-ui, sans-serif`;
  const apart = (each) => Math.ceil(LETTERS / each); // where cells are lower than letters, some have a name
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  if (isTimed(rows)) labelTimes(pen, rows, { left, above, size: high, down: true });
  else rows.forEach((row, at) => at % apart(high) || pen.fillText(shortened(pen, namedOf(row), LONGEST), left - 6, above + (at + 0.5) * high));
  if (isTimed(columns)) { labelTimes(pen, columns, { left, above, size, down: false }); return; }
  columns.forEach((column, at) => {
    if (at % apart(size)) return;
    pen.save();
    pen.translate(left + (at + 0.5) * size, above - 6);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "left";
    pen.fillText(shortened(pen, namedOf(column), LONGEST), 0, 0);
    pen.restore();
  });
}

export function drawPanels() {
  build();
  for (const element of box.children) {
    const name = shortOf(element.dataset.measure);
    element.querySelector("b").textContent = name;
    element.querySelector(".map").setAttribute("aria-label", `Map of ${name}; the arrow keys move from cell to cell`);
    const large = element.dataset.measure === state.large, enlarge = element.querySelector(".enlarge");
    if (element.classList.contains("large") !== large) forgetRooms();
    element.classList.toggle("large", large);
    enlarge.setAttribute("aria-pressed", large);
    enlarge.textContent = large ? "smaller" : "larger";
  }
  const { rows, columns } = units(), pen = small.getContext("2d");
  pen.font = "11px system-ui, sans-serif";
  const least = isTimed(columns) ? (isTimed(rows) ? LONG / 2 : LONG) : columns.length > MANY ? 270 : Math.max(270, Math.ceil(marginsOf(pen)[0] + ROOMY * columns.length) + 4);
  if (box.style.getPropertyValue("--least") !== `${least}px`) { box.style.setProperty("--least", `${least}px`); forgetRooms(); }
  if (!rooms.length) rooms = [...box.children].map((element) => element.querySelector(".map").clientWidth);
  panels = [...box.children].map((element, at) => drawPanel(element, rooms[at]));
  moveCursor();
}

/** Only boxes move while the pointer does; nothing is drawn again. */
export function moveCursor() {
  const { rows, columns, columnOf } = units();
  const row = chosenRows().at(-1) ?? -1, column = columnOf[state.key];
  for (const { wide, high, left, above, element } of panels) {
    const [across, down] = element.querySelectorAll(".cursor");
    across.hidden = row < 0; down.hidden = column < 0;
    across.style.transform = `translate(${left}px, ${above + row * high}px)`;
    across.style.width = `${wide * columns.length}px`;
    across.style.height = `${Math.max(high, 2)}px`;
    down.style.transform = `translate(${left + column * wide}px, ${above}px)`;
    down.style.width = `${Math.max(wide, 2)}px`;
    down.style.height = `${high * rows.length}px`;
  }
}

/** Row and column under the pointer, of units. */
export function cellAt(event) {
  const element = event.target.closest(".panel"), panel = panels.find((each) => each.element === element);
  if (!panel) return null;
  const frame = element.querySelector("canvas").getBoundingClientRect(), { rows, columns } = units();
  const row = Math.floor((event.clientY - frame.top - panel.above) / panel.high);
  const column = Math.floor((event.clientX - frame.left - panel.left) / panel.wide);
  return row >= 0 && row < rows.length && column >= 0 && column < columns.length ? { row, column } : null;
}

/** The share of its row that a cell has, where the number is none itself and the row is known. */
function ofRow(view, row, value, measure) {
  const { length } = units().columns, sum = view.subarray(row * length, (row + 1) * length).reduce((all, each) => all + each, 0);
  return state.special === "out" || isPercent(measure) || isTwoSided(measure) || !(sum > 0) ? "" : ` (${Math.round((100 * value) / sum)}% of its row)`;
}

/** What the cell holds by each measure that is shown. */
export function cellNumbers() {
  const { rows, columns, columnOf } = units(), row = chosenRows().at(-1), column = columnOf[state.key];
  if (row === undefined || column < 0) return null;
  return {
    from: namedOf(rows[row]), to: namedOf(columns[column]),
    numbers: panelNames().map((measure) => {
      const view = viewOf(measure), value = view[row * columns.length + column];
      return [shortOf(measure), `${shown(value, measure)}${ofRow(view, row, value, measure)}`];
    }),
  };
}

/** The colour of a cell, for exported pictures. */
export const colourOf = (value, measure, top) => hex(rampOf(scaleOf(measure))[Math.abs(value) < state.least * top ? (isTwoSided(measure) ? 128 : 0) : level(value, top, isTwoSided(measure))]);
