// Who said what: the roles of a chat over the bars of their tokens, and its messages with what each gets.
import { build } from "./head_numbers.js";
import { partOf } from "./numbers.js";
import { state } from "./state.js";
import { drawn } from "./svg.js";

/** Room of the roles over a picture, and of a letter of them, in pixels. */
export const ROLES_HIGH = 22;
const LETTER = 7, NARROWEST = 3 * LETTER, TEMPLATE = "template";
/** Segments that are said: the messages of a chat, and the answer that a model adds to it. */
const SAID = ["system", "user", "assistant", "answer"];
const box = document.getElementById("messages-box"), rows = document.getElementById("messages");
const percent = (share) => `${Math.round(100 * share)}%`;

/** Tokens of one segment that follow each other; nothing of texts without roles. */
function runsOf() {
  const runs = [];
  if (!box) return runs;
  partOf(state.kind).keys.segments?.forEach((name, place) => {
    if (runs.at(-1)?.name === name) runs.at(-1).places.push(place);
    else runs.push({ name, places: [place] });
  });
  return runs;
}

/** A line over the columns of each message, with its role; the template stays without. */
export function drawRoles(columns, aside, wide, room) {
  const runs = runsOf().filter(({ name }) => SAID.includes(name)).map(({ name, places }) => ({ name, at: places.map((place) => columns.indexOf(place)).filter((at) => at >= 0) })).filter(({ at }) => at.length);
  return runs.flatMap(({ name, at }, number) => {
    const start = aside + wide * at[0] + 2, end = aside + wide * (at.at(-1) + 1) - 2;
    const next = runs[number + 1] ? aside + wide * runs[number + 1].at[0] : room, fits = Math.floor((next - start) / LETTER);
    const text = name.length <= fits ? name : `${name.slice(0, Math.max(fits - 1, 0))}…`;
    const line = drawn("line", { x1: start, x2: end, y1: 18, y2: 18, stroke: "var(--ink)", "stroke-width": 2, "data-role": name });
    return next - start < NARROWEST ? [line] : [line, drawn("text", { x: start, y: 13, class: "label role" }, text, text === name ? "" : name)];
  });
}

/** Each message with the share of the row of a token that it gets, and what the template gets. */
export function drawMessages(sides, query) {
  if (!box) return;
  const { texts, marks } = partOf(state.kind).keys, runs = runsOf(), roles = runs.filter(({ name }) => SAID.includes(name));
  box.hidden = !roles.length;
  if (!roles.length) return;
  const names = Object.keys(sides).filter((name) => sides[name]), shares = (places) => names.map((name) => percent(places.reduce((sum, at) => sum + sides[name][at], 0)));
  // Some tokenizers mark where a word begins, others where one goes on.
  const begins = marks.includes(" ") ? (mark) => mark === " " : (mark) => mark !== "##";
  const textOf = (places) => places.map((place, at) => (at && begins(marks[place]) ? " " : "") + texts[place]).join("");
  const row = (name, text, places) => {
    const later = state.kind === "decoder" && places[0] > query, made = build("tr", later ? { class: "quiet" } : {});
    made.append(build("th", { scope: "row" }, name), build("td", { dir: "auto", title: text }, text), ...(later ? names.map(() => "–") : shares(places)).map((share) => build("td", {}, share)));
    return made;
  };
  const titles = build("tr"), template = runs.filter(({ name }) => name === TEMPLATE).flatMap(({ places }) => places);
  titles.append(...["role", "message", ...names.map((name) => name.replace("-", ", "))].map((title) => build("th", { scope: "col" }, title)));
  const made = roles.map(({ name, places }) => row(name, textOf(places), places));
  rows.replaceChildren(titles, ...made, ...(template.length ? [row(TEMPLATE, "what stands around the messages", template)] : []));
}
