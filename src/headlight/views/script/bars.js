// What a chosen token looks at and takes in one head: weight above the tokens, norm below; and one number per head.
import { build } from "./head_numbers.js";
import { header } from "./host.js";
import { headIndex, isSpecial, isThere, mapOf, measuresOf, need, partOf, textPlace } from "./numbers.js";
import { headName, state } from "./state.js";
import { drawMessages, drawRoles, ROLES_HIGH } from "./messages.js";
import { drawOverPicture } from "./over_picture.js";
import { drawn } from "./svg.js";
import { isolated } from "./units.js";

const SECOND = "-second";
const NAMED = 0.03, TILTED = 58, ASIDE = 26, NARROWEST = 26, OTHERS = 6, TRIED = 24, LABEL = 32, LINE = 13, BREAK = 12, BEYOND = 24, MARGIN = 10;
const byId = (id) => document.getElementById(id);
const grid = byId("apart"), picture = byId("bars");
const percent = (share) => `${Math.round(100 * share)}%`;

/** The row of a token as shares of its sum; nothing where the page has no such measure. */
function sharesOf(measure, query, layer, head) {
  if (!(measure in measuresOf(state.kind))) return null;
  const wide = partOf(state.kind).keys.tokens.length, row = mapOf(state.kind, measure, layer, head).subarray(query * wide, (query + 1) * wide);
  const sum = row.reduce((total, value) => (value > 0 ? total + value : total), 0);
  return Array.from(row, (value) => (sum && value > 0 ? value / sum : 0));
}

/** The word of two readings that has other pieces in each, and begins at a place. */
const swappedAt = (side, place) => partOf(state.kind)[side].swapped?.find(({ places }) => places[0] === place);

/** The head in a sentence; of several kinds of attention with its kind. */
const KINDS = { encoder: "in the encoder", decoder: "in the decoder", cross: "cross-attention" };
const where = (layer, head) => `In ${headName(layer, head)}${Object.keys(header.kinds).length > 1 ? ` (${KINDS[state.kind]})` : ""}, `;

/** A token in quotes, with its place where another reads alike; `##` of what goes on with a word. */
export function quoted(side, place) {
  const word = swappedAt(side, place);
  if (word) return `“${isolated(word.said)}”`;
  const { texts, marks } = partOf(state.kind)[side], text = texts[place], alike = texts.indexOf(text) !== texts.lastIndexOf(text);
  return `“${isolated(`${marks[place] === "##" ? "##" : ""}${text}`)}${alike ? ` (${textPlace(partOf(state.kind)[side], place)})` : ""}”`;
}

const largest = (values, without) => values.reduce((best, value, at) => (without.includes(at) || (best >= 0 && value <= values[best]) ? best : at), -1);
const specialKeys = () => { const { keys } = partOf(state.kind); return Array.from(keys.tokens.keys()).filter((at) => isSpecial(state.kind, keys, at)); };
/** The place of the chosen token among those that are attended to, where both are the same. */
const ownKey = (query) => (state.kind === "cross" ? -1 : textPlace(partOf(state.kind).queries, query));

/** What is said of a token that looks like others to the model; nothing of what the tokenizer knows. */
const ofUnknown = (query) => (partOf(state.kind).queries.unknown.includes(query) ? [[`${quoted("queries", query)} is unknown to the tokenizer, and looks to the model like all other such tokens.`]] : null);

/** What a token looks at and takes: the parts of a sentence (text, and the class of its colour), the key that it is about, and how far both are apart there. */
function sentence(query, layer, head) {
  const weight = sharesOf("weight", query, layer, head), norm = sharesOf("norm", query, layer, head), own = ownKey(query), { keys, floor } = partOf(state.kind), name = (at) => (at === own ? "itself" : keys.unknown.includes(at) ? "an unknown token" : quoted("keys", at));
  const who = quoted("queries", query), strange = ofUnknown(query);
  if (strange) return { parts: strange };
  if (!weight) return { parts: [[`${where(layer, head)}${who}`]] };
  if (state.kind === "decoder" && own === 0) return { parts: [[`${who} is the first token: it sees nothing but itself.`]] };
  const top = largest(weight, []), parts = [[`${where(layer, head)}${who} looks at ${name(top)} (`], [`${percent(weight[top])} of the weight`, "by-weight"]];
  if (!norm) return { parts: [...parts, [")."]] };
  const gap = norm[top] - weight[top], less = gap <= -floor, takes = gap >= floor ? "and takes even more" : less ? "but takes only" : "and takes about as much";
  parts.push([less ? `) ${takes} ` : `) ${takes}: `], [`${percent(norm[top])} of the norm`, "by-norm"]);
  const other = largest(norm, [top, own, ...keys.unsaid]), more = [other, own].filter((at, place) => at >= 0 && norm[at] >= floor && !(place && own === top));
  return { parts: [...parts, [`${less ? " from it" : ""}${more.map((at, place) => `${place ? " and" : ";"} ${percent(norm[at])} ${place ? "" : "comes "}from ${name(at)}`).join("")}.`]], key: top, far: Math.abs(gap) };
}

/** Of generated text, the token that a row was followed by, and its probability. */
function goesOn(query) {
  const next = document.querySelector(`#generated [data-row="${query}"]`);
  return next ? [[`“${isolated(next.textContent)}” was written after ${quoted("queries", query)}, with a probability of ${next.closest("tr").cells[1].textContent}. `]] : [];
}
const spans = (parts) => parts.map(([text, name]) => build("span", name ? { class: name } : {}, text));

/** Shares of a row of one of two readings, where a word that has other pieces in each is one key. */
function byWord(values) {
  for (const { places: [first, ...more] } of partOf(state.kind).keys.swapped ?? []) for (const at of more) values[first] += values[at];
  return values;
}

/** Of two readings: the key that both texts have from which a chosen token takes most more, or less; as `sentence`. */
function change(query, layer, head) {
  const pair = (name) => [name, `${name}${SECOND}`].map((each) => sharesOf(each, query, layer, head)), [one, two] = pair("norm"), who = quoted("queries", query), strange = ofUnknown(query);
  if (strange) return { parts: strange };
  const sides = one && two ? [one, two] : pair("weight"), { queries, keys, floor } = partOf(state.kind);
  if (!sides[0] || !sides[1] || queries.of[query] !== "both") return { parts: [[`Two readings: ${headName(layer, head)}, ${who}${queries.of[query] === "both" ? "" : ", which one of them lacks"}.`]] };
  const [before, after] = sides.map(byWord), what = one && two ? ["norm", "by-norm"] : ["weight", "by-weight"], far = before.map((value, at) => Math.abs(value - after[at])), key = largest(far, keys.unsaid);
  if (!(far[key] >= floor)) return { parts: [[`${where(layer, head)}${who} takes about as much from each token in both.`]], key, far: far[key] ?? 0 };
  return { parts: [[`${where(layer, head)}${who} takes ${after[key] > before[key] ? "more" : "less"} from ${key === ownKey(query) ? "itself" : quoted("keys", key)} in the second: `], [`${percent(after[key])} against ${percent(before[key])} of the ${what[0]}`, what[1]], ["."]], key, far: far[key] };
}

const said = (query, layer, head) => (header.second ? change : sentence)(query, layer, head);

function drawChip(sides) {
  const hidden = specialKeys(), chip = byId("parked"), shown = state.special !== "out";
  chip.hidden = !hidden.length || !sides.weight || Boolean(header.picture && state.view === "bars");
  if (chip.hidden) return;
  const sum = (values) => percent(hidden.reduce((total, at) => total + values[at], 0)), names = hidden.length > 2 ? `${hidden.length} special tokens` : hidden.map((at) => quoted("keys", at)).join(" and ");
  chip.replaceChildren(`${names} ${state.view === "bars" ? (shown ? "drawn to scale" : "hatched, not drawn to scale") : shown ? "shown" : "hidden"}: `, build("b", { class: "by-weight" }, `${sum(sides.weight)} of the weight`), ...(sides.norm ? [", ", build("b", { class: "by-norm" }, `${sum(sides.norm)} of the norm`)] : []), ` · ${state.view === "bars" ? (shown ? "hatch" : "draw to scale") : shown ? "hide" : "show"}`);
}

/** How a bar is drawn: to scale as far as the scale goes; what is beyond it is broken, and still the higher the more it is. */
const heightOf = (share, top, tall) => (share > top ? { high: tall + BREAK + BEYOND * share, broken: true } : { high: Math.max((share / top) * tall, 1), broken: false });

/** Numbers of bars, the largest first, of which none lies over another: one that would stands a line further out, or is left to the hint. */
function apartFrom(values) {
  const placed = [];
  for (const value of values.sort((one, other) => other.share - one.share)) {
    const free = [0, 1].map((lines) => ({ ...value, y: value.y + (value.up ? -LINE : LINE) * lines })).find(({ x, y }) => !placed.some((other) => Math.abs(other.x - x) < LABEL && Math.abs(other.y - y) < LINE));
    if (free) placed.push(free);
  }
  return placed;
}

/** Places with a column: all, or those with the largest shares that fit, in the order of the text. */
function columnsOf(sides, query, room) {
  const { keys } = partOf(state.kind), all = Array.from(keys.tokens.keys()), most = Math.floor(room / NARROWEST);
  if (all.length <= most) return all;
  const size = (at) => (at === ownKey(query) ? 1 : Math.max(...Object.values(sides).map((values) => values?.[at] ?? 0)));
  return all.sort((one, other) => size(other) - size(one)).slice(0, most).sort((one, other) => one - other);
}

function placePicture(width, height, made, query, layer, head) {
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) picture.setAttribute(name, value);
  picture.replaceChildren(...made);
  picture.setAttribute("aria-label", `What ${quoted("queries", query)} looks at and takes in ${headName(layer, head)}`);
}

function drawPicture(query, layer, head) {
  const names = ["weight", "norm", ...(header.second ? [`weight${SECOND}`, `norm${SECOND}`] : [])];
  const sides = Object.fromEntries(names.map((name) => [name, sharesOf(name, query, layer, head)]));
  if (header.picture) {
    const { made, width, height } = drawOverPicture(picture.parentElement.clientWidth, query, sides);
    placePicture(width, height, made, query, layer, head);
    byId("bars-said").replaceChildren(build("b", {}, `What ${quoted("queries", query)} looks at `), build("span", { class: "by-weight" }, "(weight)"), build("b", {}, " and what it takes "), build("span", { class: "by-norm" }, "(norm)"), ", as shares of its row, in one scale of colour up to the most on a patch (▲: what is no patch and has more), over the picture that the model saw, in grey. Click a patch, or what stands below, to make it the one that looks.");
    drawChip(sides);
    return;
  }
  const room = picture.parentElement.clientWidth, columns = columnsOf(sides, query, room), tilted = room / columns.length < TILTED, aside = tilted ? ASIDE : 0, wide = (room - aside - (tilted ? MARGIN : 0)) / columns.length, small = room < 600;
  const hidden = state.special === "out" ? specialKeys().filter((at) => at !== ownKey(query)) : [], { keys } = partOf(state.kind), own = ownKey(query);
  const unseen = (at) => state.kind === "decoder" && at > own, visible = columns.filter((at) => !hidden.includes(at) && !unseen(at));
  const most = (name) => Math.max(0, ...visible.map((at) => Math.max(sides[name]?.[at] ?? 0, sides[`${name}${SECOND}`]?.[at] ?? 0)));
  const top = Math.max(0.02, most("weight"), most("norm")), tall = small ? 120 : 168, middle = tilted ? 66 : keys.texts.some((text) => text.includes(" / ")) ? 54 : 36, broad = Math.min(0.62 * wide, 44);
  const seen = columns.filter((at) => !unseen(at)), highest = (name) => Math.max(0, ...seen.flatMap((at) => [name, `${name}${SECOND}`].map((each) => heightOf(sides[each]?.[at] ?? 0, top, tall).high)));
  const roles = drawRoles(columns, aside, wide, room), above = (roles.length ? ROLES_HIGH : 0) + Math.max(58, highest("weight") + 22 + LINE), below = above + middle, height = below + (sides.norm ? Math.max(58, highest("norm") + 20 + LINE) : 2);
  const made = (sides.norm ? [above, below] : [above]).map((y) => drawn("line", { x1: 0, x2: room, y1: y, y2: y, stroke: "var(--line)" })), pattern = drawn("pattern", { id: "hatched", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(drawn("rect", { width: 1.4, height: 5, fill: "var(--quiet)" }));
  made.push(pattern, ...roles);
  const values = [];
  const bar = (x, name, at, up, width, hollow) => {
    const share = sides[name]?.[at];
    if (share === undefined) return;
    const { high, broken } = heightOf(share, top, tall), ink = `var(--s-${name.replace(SECOND, "")})`, parked = hidden.includes(at);
    const look = parked ? { fill: "url(#hatched)", stroke: hollow ? ink : "var(--quiet)", "stroke-dasharray": "3 2", "data-hidden": at } : { fill: hollow ? "none" : ink, stroke: hollow ? ink : undefined, "stroke-width": 1.4, "data-bar": name, "data-key": at };
    made.push(drawn("rect", { x, y: up ? above - high : below, width, height: high, rx: parked ? 0 : 2, ...look }, undefined, `${quoted("keys", at)}: ${(100 * share).toFixed(1)}% of the ${name.replace(SECOND, "")}${broken ? "; higher than the scale, so its bar is broken" : ""}`));
    if (broken) {
      const y = up ? above - tall - BREAK / 2 : below + tall + BREAK / 2, zigzag = (by) => `M${x - 3} ${y + by + 3}L${x + width / 4} ${y + by - 3}L${x + width / 2} ${y + by + 3}L${x + (3 * width) / 4} ${y + by - 3}L${x + width + 3} ${y + by + 3}`;
      made.push(drawn("path", { d: zigzag(0), fill: "none", stroke: "var(--card)", "stroke-width": 8 }), ...[-4, 4].map((by) => drawn("path", { d: zigzag(by), fill: "none", stroke: "var(--quiet)", "stroke-width": 1.2, "data-broken": at })));
    }
    if (share >= NAMED || broken || parked) values.push({ x: x + width / 2, y: up ? above - high - 5 : below + high + 14, up, share, parked });
  };
  columns.forEach((at, place) => {
    const x = aside + wide * (place + 0.5), half = header.second ? broad / 2 : broad;
    if (!unseen(at)) for (const [name, up] of [["weight", true], ["norm", false]]) {
      bar(x - broad / 2, name, at, up, half, Boolean(header.second));
      if (header.second) bar(x, `${name}${SECOND}`, at, up, half, false);
    }
    if (at === own && !tilted) made.push(drawn("rect", { x: aside + wide * place + 1, y: above + 4, width: wide - 2, height: middle - 8, rx: 6, fill: "none", stroke: "var(--link)", "stroke-width": 1.5 }));
    const text = `${keys.marks[at] === "##" ? "##" : ""}${keys.texts[at]}`, y = above + middle / 2 + 5, lines = (tilted ? [text] : text.split(" / ")).map((line) => (line.length > 12 ? `${line.slice(0, 11)}…` : line));
    const label = drawn("text", { ...(tilted ? { transform: `translate(${x + 4} ${y - 3}) rotate(-52)` } : { x, y }), "text-anchor": "middle", class: `token${at === own ? " chosen" : hidden.includes(at) || unseen(at) ? " quiet" : ""}`, "data-token": at }, lines.length > 1 ? "" : isolated(lines[0]), lines.join(" / ") === text ? "" : text.slice(0, 80));
    if (lines.length > 1) label.append(...lines.map((line, row) => drawn("tspan", { x, y: y - 8 + 17 * row, "data-token": at }, `${line}${row ? "" : " /"}`)));
    made.push(label);
  });
  made.push(...apartFrom(values).map(({ x, y, share, parked }) => drawn("text", { x, y, "text-anchor": "middle", class: parked ? "value quiet" : "value" }, percent(share))));
  placePicture(room, height, made, query, layer, head);
  const who = quoted("queries", query), out = Array.from(keys.tokens.keys()).filter((at) => !columns.includes(at) && !unseen(at));
  const rest = ["weight", "norm"].filter((name) => sides[name]).map((name) => `${percent(out.reduce((sum, at) => sum + sides[name][at], 0))} of the ${name}`).join(" and ");
  const all = `${out.length ? ` Left out for want of room: ${out.length} ${out.length > 1 ? "tokens" : "token"} with ${rest} together.` : ""}${seen.some((at) => hidden.includes(at)) ? ` Hatched: ${state.kind === "decoder" ? "the first and special tokens" : "special tokens"}, set aside${seen.some((at) => Object.values(sides).some((values) => values?.[at] > top)) ? "; bars with a break are higher than the scale" : ""}.` : ""}`;
  byId("bars-said").replaceChildren(build("b", {}, `What ${who} looks at `), build("span", { class: "by-weight" }, "(weight, up)"), ...(sides.norm ? [build("b", {}, " and what it takes "), build("span", { class: "by-norm" }, "(norm, down)")] : []), `.${header.second ? " Outlined the first, filled the second." : ""}${all} Click a token to make it the one that looks.`);
  drawMessages(sides, own);
  drawChip(sides);
}

const statistic = () => partOf(state.kind).statistics.find(({ name }) => name === "apart");
/** How far each head is apart, by its place among all; nothing where the page does not know. */
const numbers = () => { const by = statistic()?.by; return by && (by["norm-difference"] ?? by["weight-difference"] ?? by.weight)?.[0]; };

/** Heads beside the chosen one that are far apart at the chosen token, each in a sentence; of where attention is parked, and other tokens that are not said, the first alone. */
async function drawOthers(query) {
  const values = numbers(), part = partOf(state.kind), places = part.layers.flatMap((_, layer) => Array.from({ length: part.heads[layer] }, (_, head) => ({ layer, head })));
  const first = values ? places.map((place, at) => ({ ...place, value: values[at] ?? 0 })).filter(({ layer, head }) => layer !== state.layer || head !== state.head).sort((one, other) => other.value - one.value).slice(0, TRIED) : [];
  const now = `${state.kind} ${query} ${state.layer} ${state.head}`;
  byId("others").dataset.of = now;
  await Promise.all(first.map(({ layer }) => need(state.kind, layer, Object.keys(measuresOf(state.kind)))));
  if (byId("others").dataset.of !== now) return;
  const known = new Set(), told = first.map((place) => ({ ...place, ...said(query, place.layer, place.head) })).filter(({ key, far }) => far >= part.floor && (!part.keys.unsaid.includes(key) || (!known.has(key) && known.add(key)))).slice(0, OTHERS);
  byId("others-box").hidden = !told.length;
  byId("others").replaceChildren(...told.map(({ layer, head, parts }) => {
    const row = build("tr"), button = build("button", { type: "button", "data-layer": layer, "data-head": head }, headName(layer, head)), cell = build("td");
    cell.append(...spans(parts).map((each, at) => { if (!at) each.textContent = each.textContent.replace(/^In L\d+H\d+[^,]*, /, ""); return each; }));
    row.append(build("td", {}, button), cell);
    return row;
  }));
}

/** One number for each head: how far weight and norm, or two readings, are apart. */
export function drawGrid() {
  const values = numbers(), part = partOf(state.kind);
  grid.parentElement.hidden = !values || state.view === "maps"; // which have small maps of all heads beside them
  if (grid.parentElement.hidden) return;
  const heads = Math.max(...part.heads), room = grid.parentElement.clientWidth - 24, left = 32, named = Object.keys(part.findings ?? {}), aside = named.length && room > 250 ? 120 : 0;
  const wide = Math.min((room - left - aside) / heads, 34), high = Math.min(wide, Math.max(9, Math.min(26, 520 / part.layers.length))), top = Math.max(...values.map((value) => value ?? 0)) || 1, made = [], step = Math.ceil(12 / high);
  for (let head = 0; head < heads; head += Math.ceil(20 / wide)) made.push(drawn("text", { x: left + wide * (head + 0.5), y: 12, "text-anchor": "middle", class: "label" }, head));
  let lowest = 0;
  part.layers.forEach((number, layer) => {
    const y = 18 + high * layer;
    if (layer % (step > 1 ? 5 : 1) === 0 || layer === part.layers.length - 1 && step === 1) made.push(drawn("text", { x: left - 6, y: y + high / 2 + 4, "text-anchor": "end", class: "label" }, `L${number}`));
    for (let head = 0; head < part.heads[layer]; head += 1) {
      const value = values[headIndex(state.kind, layer, head)], name = headName(layer, head), chosen = layer === state.layer && head === state.head, told = part.findings?.[name];
      made.push(drawn("rect", { x: left + wide * head + 0.5, y: y + 0.5, width: wide - 1.5, height: high - 1.5, rx: 2, fill: `color-mix(in oklab, var(--card), var(--s-norm) ${Math.round((100 * (value ?? 0)) / top)}%)`, stroke: chosen ? "var(--link)" : told ? "var(--ink)" : "var(--faint)", "stroke-width": chosen ? 2.5 : told ? 1.5 : 0.5, "data-layer": layer, "data-head": head }, undefined, `${name}: ${value === null ? "not known" : percent(value)} apart${told ? `. In the corpus: ${told.join(" ")}` : ""}`));
      if (!(chosen || told) || !aside && !chosen) continue;
      lowest = Math.max(lowest + 13, y + high / 2 + 4);
      if (aside) made.push(drawn("text", { x: left + wide * heads + 8, y: lowest, class: chosen ? "label chosen" : "label" }, `${name}${chosen ? ", chosen" : ""}`));
    }
  });
  const height = 24 + Math.max(high * part.layers.length, lowest - 10);
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${room} ${height}`, width: room, height })) grid.setAttribute(name, value);
  grid.replaceChildren(...made);
  const what = header.second ? "how far the two readings are apart" : "how much of a token’s attention weight and norm place differently, the mean over tokens";
  byId("apart-said").replaceChildren(build("b", {}, `All ${values.length} heads: `), `${what}, up to ${percent(top)}.${named.length ? " Framed ones have a name from a survey." : ""} Click one to see it.`);
}

/** All of it; what is not there yet is drawn once it is. */
export function drawBars() {
  const [query] = state.queries, { layer, head, kind } = state;
  if (!isThere(kind, layer, "weight" in measuresOf(kind) ? "weight" : Object.keys(measuresOf(kind))[0])) return;
  byId("said").replaceChildren(...spans([...goesOn(query), ...said(query, layer, head).parts]));
  document.querySelectorAll("#generated [data-row]").forEach((each) => each.setAttribute("aria-pressed", Number(each.dataset.row) === query));
  if (state.view !== "bars") {
    drawChip({ weight: sharesOf("weight", query, layer, head), norm: sharesOf("norm", query, layer, head) });
    return;
  }
  drawPicture(query, layer, head);
  drawOthers(query).catch(() => {});
}

/** @param {{look: (place: {layer: number, head: number}) => void, keep: (query: number) => void}} page shows a head, and makes a token the one that looks */
export function offerBars({ look, keep }) {
  const chosen = ({ target }) => { if (target.dataset.layer) look({ layer: Number(target.dataset.layer), head: Number(target.dataset.head) }); };
  grid.addEventListener("click", chosen);
  byId("others").addEventListener("click", chosen);
  picture.addEventListener("click", ({ target }) => {
    if (!target.dataset.token || state.kind === "cross") return;
    const { places } = partOf(state.kind).queries, place = Number(target.dataset.token), query = places ? places.indexOf(place) : place;
    if (query >= 0) keep(query);
  });
  byId("generated")?.addEventListener("click", ({ target }) => { if (target.dataset.row) keep(Number(target.dataset.row)); });
}
