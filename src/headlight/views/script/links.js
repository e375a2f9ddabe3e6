// The strongest links of a head: as a table, and as lines between two columns of tokens.
import { hex, rampOf, sharp, variable } from "./colours.js";
import { isTwoSided, scaleOf, shown } from "./measures.js";
import { state } from "./state.js";
import { chosenRows, isolated, isTimed, namedOf, ticksOf, topOf, units, viewOf } from "./units.js";

const TABLE = 20, ALL = 200, OF_ROW = 24, HIGH = 1400, SIDE = 110;

/** The places of the largest values, largest first. */
function largest(view, number, rows) {
  const { columns } = units(), places = [], twoSided = isTwoSided(state.measure);
  const size = (place) => (twoSided ? Math.abs(view[place]) : view[place]);
  for (const row of rows) {
    for (let place = row * columns.length; place < (row + 1) * columns.length; place += 1) if (size(place) > 0) places.push(place);
  }
  return places.sort((one, other) => size(other) - size(one)).slice(0, number);
}

/** What a unit is called, with its place, from 0, where another is called so too. */
const told = (list, at) => {
  const name = namedOf(list[at]);
  return list.some((unit, other) => other !== at && namedOf(unit) === name) ? `${name} (${list[at].places[0]})` : name;
};

export function drawTable() {
  const { rows, columns } = units(), view = viewOf(state.measure);
  const body = document.querySelector("#links tbody");
  const found = largest(view, TABLE, rows.map((_, at) => at));
  body.replaceChildren(...found.map((place) => {
    const line = document.createElement("tr");
    for (const said of [told(rows, Math.floor(place / columns.length)), told(columns, place % columns.length), shown(view[place], state.measure)]) {
      const cell = document.createElement("td");
      cell.textContent = said;
      cell.dir = "auto";
      line.append(cell);
    }
    return line;
  }));
}

export function drawLines(all) {
  const canvas = document.getElementById("lines"), { rows, columns } = units();
  const view = viewOf(state.measure), top = topOf(view);
  const width = Math.min(canvas.parentElement.clientWidth, 560);
  const number = Math.max(rows.length, columns.length), high = Math.min(19, Math.max(4, HIGH / number));
  const timed = isTimed(columns), spread = (list) => (timed ? (high * number) / list.length : high);
  const pen = sharp(canvas, width, high * number + 4);
  const chosen = chosenRows();
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const write = (list, x, align, bold) => list.forEach((unit, at) => {
    const own = spread(list), ticks = isTimed(list) ? ticksOf(list, own).map((tick) => Math.round(tick.at)) : null;
    if (!(ticks ? ticks.includes(at) : at % Math.ceil(12 / own) === 0) && !bold?.includes(at)) return;
    pen.textAlign = align;
    pen.fillStyle = variable(bold?.includes(at) ? "--ink" : "--quiet");
    pen.fillText(isolated(namedOf(unit).slice(0, 16)), x, (at + 0.5) * own, SIDE - 8);
  });
  write(rows, SIDE - 8, "right", chosen);
  write(columns, width - SIDE + 8, "left");
  const list = largest(view, all ? ALL : OF_ROW, all ? rows.map((_, at) => at) : chosen);
  const ramp = rampOf(scaleOf(state.measure)), twoSided = isTwoSided(state.measure);
  for (const place of list.reverse()) {
    const share = Math.abs(view[place]) / top;
    if (share < state.least) continue;
    pen.strokeStyle = hex(ramp[twoSided && view[place] < 0 ? 40 : twoSided ? 215 : 190]);
    pen.globalAlpha = 0.08 + 0.92 * Math.min(share, 1);
    pen.lineWidth = 0.5 + 3.5 * Math.min(share, 1);
    pen.beginPath();
    pen.moveTo(SIDE, (Math.floor(place / columns.length) + 0.5) * spread(rows));
    pen.lineTo(width - SIDE, ((place % columns.length) + 0.5) * spread(columns));
    pen.stroke();
  }
  pen.globalAlpha = 1;
}
