// The page of one head: what it does among all heads, and where in the corpus.  Texts of a corpus
// are data: they become text nodes, never markup.
import { build, said, statisticsTable, table } from "./head_numbers.js";

// What a corpus is made of: sound comes in recordings.
const textOf = (all) => (all.unit === "frame" ? "recording" : "text");

// Where the head ranks highest; the other numbers are folded.
const FIRST = 6;
const behaviours = (all, index, from, to) => statisticsTable(
  `Means over ${textOf(all)}s ± half an interval of 95%, and rank among ${all.names.length} heads, #1–3 where intervals leave it open`,
  all.statistics, all.measures, index, all.unit, from, to,
);

// A row of attention as text: each token with what it gets as colour, the attending one framed.
function line(tokens, weights, asking, colour, top) {
  const marked = tokens.some(([, token]) => token.startsWith(" "));
  const made = build("span", { class: `passage scale-${colour}`, dir: "auto" });
  let before = -1;
  tokens.forEach(([place, token]) => {
    const inside = !marked && token.startsWith("##") && token.length > 2;
    if (place > before + 1) made.append(" … ");
    else if (place > 0 && (marked ? token.startsWith(" ") : !inside)) made.append(" ");
    const weight = weights.get(place) ?? 0;
    const step = Math.round(20 * Math.sqrt(Math.min(Math.max(weight / top, 0), 1)));
    const shown = build("span", { class: `q${step}${place === asking ? " asking" : ""}` }, inside ? token.slice(2) : token.trimStart() || "␣");
    if (weights.has(place)) shown.title = said(weight);
    made.append(shown);
    before = place;
  });
  return made;
}

const AROUND = 9;

function decile(all, [percent, score, text, query, places, values], colour, top) {
  const [keys, queries] = all.texts;
  const cross = queries.length > 0;
  const weights = new Map(places.map((place, at) => [place, values[at]]));
  const near = (place) => (!cross && Math.abs(place - query) <= AROUND) || places.some((each) => Math.abs(each - place) <= 1);
  const tokens = keys[text].map((token, place) => [place, token]).filter(([place]) => near(place));
  const name = { 100: "strongest", 50: "median", 0: "weakest" }[percent] ?? `${percent}%`;
  const asks = cross ? build("span", { class: "quiet" }, `${queries[text][query].trim()} → `) : "";
  return [name, said(score), build("span", {}, asks, line(tokens, weights, cross ? -1 : query, colour, top))];
}

function deciles(all, detail, measure) {
  const rows = detail.deciles[measure] ?? [];
  if (!rows.length) return "";
  const colour = all.measures.find(([name]) => name === measure)[2];
  const top = Math.max(...rows.flatMap((row) => row[5]), 1e-9);
  // Of few texts one stands at several deciles.
  const once = rows.filter((row, at) => !at || row[2] !== rows[at - 1][2]);
  const made = table(
    `Texts of the corpus by the strongest link of the head, ${once.length} of ${all.texts[0].length} that were drawn at random`,
    ["decile", "strength", "the row of that link"],
    once.map((row) => decile(all, row, colour, top)),
  );
  made.classList.add("lines");
  return made;
}

function passages(all, detail) {
  if (!detail.passages.length) return "";
  const list = build("ol", { class: "of-head" });
  detail.passages.forEach((each) => {
    const weights = new Map(each.tokens.map(([place, , weight]) => [place, weight]));
    const what = build("span", { class: "eyebrow" }, `most ${each.does}`);
    const mean = build("span", { class: "quiet small" }, `${each.query} attends; ${said(each.mean)} on average in this ${textOf(all)} of ${each.length} ${all.unit}s`);
    list.append(build("li", {}, what, line(each.tokens, weights, each.place, "blue", 1), mean));
  });
  return build("div", {}, build("h4", {}, "Strongest passages of the whole corpus"), list);
}

function tokens(all, detail) {
  const columns = Object.entries(detail.tokens).flatMap(([side, by]) =>
    all.measures.filter(([name]) => by[name]?.length).map(([name, label]) => [`${side === "key" ? "attended to" : "attending"}, ${label}`, by[name]]));
  if (!columns.length) return "";
  const most = Math.max(...columns.map(([, rows]) => rows.length));
  const cell = (row) => (row ? `${row[0].trim() || "␣"} ${said(row[1], "share")} ×${said(row[2])}` : "");
  return table(
    "Tokens beyond their frequency: share of all that tokens get, or give, and lift",
    ["", ...columns.map(([title]) => title)],
    Array.from({ length: most }, (_, at) => [`${at + 1}.`, ...columns.map(([, rows]) => cell(rows[at]))]),
  );
}

function distances(all, detail) {
  const by = all.measures.filter(([name]) => detail.distances[name]?.some((value) => value !== null));
  if (!by.length) return "";
  const last = Math.max(...by.map(([name]) => detail.distances[name].findLastIndex((value) => value)));
  const rows = all.distances.slice(0, last + 1).map((label, at) => [label, ...by.map(([name, , colour]) => {
    const value = detail.distances[name][at];
    const bar = build("i", { class: `bar scale-${colour}`, style: `width:${Math.max(0, Math.min(1, value ?? 0)) * 100}px` });
    return build("span", { class: "bars" }, bar, said(value, "share"));
  })]);
  return table(`Distance of the key, in ${all.unit}s`, ["", ...by.map(([, label]) => label)], rows);
}

// Everything of one head; `measure` says by which the texts are shown.
export function showCard(panel, all, index, detail, measure) {
  const choice = build("fieldset", { class: "choices" }, build("legend", {}, "Texts by"));
  const shown = all.measures.filter(([name]) => detail.deciles[name]?.length);
  const texts = build("div");
  const show = (name) => texts.replaceChildren(deciles(all, detail, name));
  shown.forEach(([name, label]) => {
    const input = build("input", { type: "radio", name: "texts-by", value: name });
    input.checked = name === measure;
    input.addEventListener("change", () => show(name));
    choice.append(build("label", {}, input, build("span", {}, label)));
  });
  if (shown.length) show(shown.some(([name]) => name === measure) ? measure : shown[0][0]);
  panel.replaceChildren(
    behaviours(all, index, 0, FIRST),
    passages(all, detail),
    ...[["All other numbers", all.statistics.length > FIRST && behaviours(all, index, FIRST)], ["From the weakest to the strongest", shown.length && build("div", {}, choice, texts)], ["Tokens beyond their frequency", tokens(all, detail)], ["Distances", distances(all, detail)]].filter(([, part]) => part).map(([title, part]) => build("details", {}, build("summary", {}, title), part)),
  );
}
