// The routes of a text: what a chosen token takes from others, in which layers, by which heads.
import { bytesOf, inflated } from "./bytes.js";
import { drawn } from "./svg.js";
import { sharesOf, waysTo } from "./ways.js";

const data = JSON.parse(document.getElementById("routes").textContent);
const { tokens, layers, parked, unsaid, least: kept } = data, DEPTH = layers.length, SIZE = tokens.length;
const BAND = 13, MOST_HEADS = 8, TILTED = 58, NARROWEST = 30;
const element = (id) => document.getElementById(id), graph = element("graph");
const state = { token: data.token, layer: data.layer, least: Math.max(data.shown, kept), parked: false };
const headName = (place, head) => `L${layers[place]}H${head}`;
const quoted = (at) => `“${tokens[at]}${data.twice[at] ? ` (${at})` : ""}”`;
const percent = (share) => (share > 0 && share < 0.001 ? "under 0.1%" : `${(100 * share).toFixed(share > 0 && share < 0.01 ? 1 : 0)}%`), fine = (share) => `${(100 * share).toFixed(1)}%`;
const listed = (parts) => (parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts.join(""));
const largest = (values) => Array.from(values, (_, at) => at).sort((one, other) => values[other] - values[one]);
let shares = [];

/** Sums by segment, the first token of a decoder apart; nothing of texts without segments. */
function bySegment(values) {
  const sums = new Map();
  data.segments.forEach((name, at) => { const key = data.causal && !at ? "first token" : name; sums.set(key, (sums.get(key) ?? 0) + values[at]); });
  return sums.size ? ` By segment: ${listed([...sums].map(([name, share]) => `${name} ${percent(share)}`))}.` : "";
}

/** Places of the tokens that the title names. */
const namedOf = (direct) => largest(direct).filter((at) => at !== state.token && !unsaid.includes(at) && direct[at] >= 0.02).slice(0, 3);

/** The sentences of `headlight.findings.routes`, of what is chosen. */
function tell({ links, passing, direct, most }) {
  const { token, layer } = state;
  const by = (at) => { const first = most.get(at)?.heads[0]; return first ? ` (largest part by ${headName(most.get(at).place, first.head)})` : ""; };
  const takes = namedOf(direct).map((at, rank) => `${percent(direct[at])} ${rank ? "" : "came "}from ${quoted(at)}${rank < 2 ? by(at) : ""}`);
  element("said").textContent = `After layer ${layers[layer - 1]} ${quoted(token)} is ${percent(direct[token])} itself; ${listed(takes) || "little came from other words"}.`;
  const ends = parked.filter((at) => at !== token), sum = (values, places) => places.reduce((total, at) => total + values[at], 0);
  const inputs = largest(passing[0]).filter((at) => at !== token && !unsaid.includes(at) && passing[0][at] > 0).slice(0, 2).map((at) => `${percent(passing[0][at])} is ${quoted(at)}`);
  if (ends.length) inputs.push(`${percent(sum(passing[0], ends))} is ${listed(ends.map(quoted))}`);
  element("traced").textContent = `Traced to the input, through what those tokens had taken: ${listed(inputs)}.${bySegment(passing[0])}`;
  element("legend").textContent = `Percentages: how much of ${quoted(token)} came straight from each token. The largest links are named, each with its largest head; orange: feed-forward layers.`;
  element("hidden").hidden = !ends.length;
  element("hidden").textContent = `Links from ${listed(ends.map(quoted))} ${state.parked ? "shown" : "hidden"}: ${percent(sum(direct, ends))} directly, ${percent(sum(passing[0], ends))} in all · ${state.parked ? "hide" : "show"}`;
  const shown = links.filter((link) => link.to === token).reduce((total, { share }) => total + share, 0), hidden = state.parked ? 0 : sum(direct, ends);
  element("drawn").textContent = `${links.length} links; to ${quoted(token)} they bring ${percent(shown)}, smaller ones ${percent(Math.max(0, 1 - direct[token] - hidden - shown))}`;
  const parts = links.flatMap((link) => link.heads.map(({ head, share }) => ({ link, share, name: headName(link.place, head) })));
  const heads = new Set(parts.map(({ name }) => name));
  element("counted").textContent = `${heads.size} ${heads.size === 1 ? "head makes" : "heads make"} the ${links.length} links that are drawn.`;
  element("heads").replaceChildren(...parts.sort((one, other) => other.share - one.share).slice(0, MOST_HEADS).map(({ name, share, link }) => {
    const row = document.createElement("tr");
    row.append(...[name, `${quoted(link.to)} from ${quoted(link.from)}`, fine(share)].map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return row;
  }));
}

/** Tokens that have a column: all that can be reached where they fit, else those of a link. */
function columnsOf({ links }, room) {
  const reached = Array.from(tokens.keys()).filter((at) => !data.causal || at <= state.token);
  if (reached.length * NARROWEST <= room) return reached;
  const ends = new Set([state.token, ...parked, ...links.flatMap(({ from, to }) => [from, to])]);
  return reached.filter((at) => ends.has(at));
}

/** Layers from above: one with a link is a row, those between are one thin band. */
function rowsOf(links) {
  const linked = new Set(links.map(({ place }) => place)), rows = [];
  for (let place = state.layer - 1; place >= 0; place -= 1) {
    const last = rows.at(-1);
    if (!linked.has(place) && last && !last.linked) last.to = place;
    else rows.push({ from: place, to: place, linked: linked.has(place) });
  }
  return rows;
}

function draw() {
  const ways = waysTo(shares, SIZE, { ...state, hidden: state.parked ? [] : parked }), { links, passing, direct } = ways;
  tell(ways);
  for (const button of element("sentence").children) button.setAttribute("aria-pressed", String(Number(button.dataset.token) === state.token));
  const frame = graph.parentElement, room = frame.clientWidth, small = room < 600, left = small ? 26 : 44, right = small ? 22 : 30;
  const columns = columnsOf(ways, room - left - right), without = (data.causal ? state.token + 1 : SIZE) - columns.length, wide = Math.max(small ? 22 : NARROWEST, (room - left - right) / Math.max(columns.length, 3)), tilted = wide < TILTED;
  const rows = rowsOf(links), many = rows.filter(({ linked }) => linked).length, above = tilted ? 92 : 50, below = tilted ? 72 : 28;
  const free = Math.max(small ? 330 : 300, Math.min(720, innerHeight - frame.getBoundingClientRect().top - scrollY - 24)) - above - below - (rows.length - many) * BAND;
  const tall = Math.max(19, Math.min(64, free / Math.max(many, 1))), width = left + wide * columns.length + right, height = above + below + many * tall + (rows.length - many) * BAND;
  const across = new Map(columns.map((at, place) => [at, left + wide * (place + 0.5)])), down = new Array(state.layer + 1), thick = Math.min(0.72 * wide, 60);
  const ink = ["--s-weight", "--s-norm", "--quiet", "--faint", "--card", "--link", "--ink"].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  const [blue, orange, quiet, faint, card, chosen, black] = ink, made = [];
  let y = above;
  for (const { from, to, linked } of rows) {
    const high = linked ? tall : BAND;
    for (let place = from; place >= to; place -= 1) down[place + 1] = y + (high * (from - place)) / (from - to + 1);
    if (!linked) made.push(drawn("rect", { x: left, y: y + 1, width: width - left - right, height: BAND - 2, rx: 3, fill: faint }, undefined, `layers ${layers[to]} to ${layers[from]}: no link of at least ${fine(state.least)}`));
    if (linked || !small) made.push(drawn("text", { x: left - 6, y: y + high / 2 + 4, "text-anchor": "end", fill: quiet, "font-size": 11 }, linked ? `${small ? "" : "L"}${layers[from]}` : from === to ? layers[from] : `${layers[to]}–${layers[from]}`));
    y += high;
  }
  down[0] = y;
  const pattern = drawn("pattern", { id: "hatched", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(drawn("rect", { width: 1.6, height: 5, fill: quiet }));
  made.unshift(pattern);
  for (const at of columns) {
    const sides = [[], []];
    for (let depth = state.layer; depth >= 0; depth -= 1) {
      const half = Math.max((passing[depth][at] * thick) / 2, passing[depth][at] > 0.004 ? 0.6 : 0);
      sides[0].push(`${across.get(at) - half},${down[depth]}`);
      sides[1].unshift(`${across.get(at) + half},${down[depth]}`);
    }
    made.push(drawn("polygon", { points: sides.flat().join(" "), fill: parked.includes(at) ? "url(#hatched)" : blue, "fill-opacity": at === state.token ? 0.4 : parked.includes(at) ? 1 : 0.28, "data-column": at }, undefined, `${quoted(at)}: ${percent(passing[0][at])} of ${quoted(state.token)} at the input`));
  }
  made.push(...linkLines(ways, { across, down, thick, small, width, blue, card, black }));
  for (const { from: place, linked } of rows) for (const at of columns) {
    const part = (data.sums[place].forward[at] ?? 0) * passing[place + 1][at];
    if (!linked || part < state.least) continue;
    const broad = Math.max(3, part * thick);
    made.push(drawn("rect", { x: across.get(at) - broad / 2, y: down[place + 1] + 3, width: broad, height: 3, rx: 1, fill: orange, "data-way": "forward" }, undefined, `the feed-forward layer of layer ${layers[place]} is ${percent(data.sums[place].forward[at])} of ${quoted(at)} then`));
  }
  for (const at of columns) made.push(...names(at, across.get(at), { above, foot: y, tilted, direct, chosen, quiet, blue, black }));
  made.push(drawn("text", { x: left - 6, y: y + 14, "text-anchor": "end", fill: quiet, "font-size": 11 }, small ? "in" : "input"));
  for (const [name, value] of Object.entries({ xmlns: graph.namespaceURI, viewBox: `0 0 ${width} ${height}`, width, height })) graph.setAttribute(name, value);
  graph.replaceChildren(...made);
  if (without) element("drawn").textContent += `; ${without} ${without > 1 ? "tokens have" : "token has"} no link and no column`;
  element("least-said").textContent = fine(state.least);
  element("least").value = Math.sqrt(state.least);
  element("layer").value = state.layer;
}

/** The links that are stressed and named: the largest of each token in the title, and those half as large as the largest of all. */
function strongOf({ links, direct, most }) {
  const half = Math.max(...links.map(({ share }) => share)) / 2, first = namedOf(direct).map((at) => most.get(at));
  return new Set(links.filter((link) => link.share >= half || first.includes(link)));
}

function linkLines(ways, { across, down, thick, small, width, blue, card, black }) {
  const { links, passing } = ways, strong = strongOf(ways), made = [], texts = [], placed = [];
  for (const link of [...links].sort((one, other) => strong.has(one) - strong.has(other) || other.share - one.share)) {
    const { place, to, from, share, heads } = link, aside = Math.sign(across.get(to) - across.get(from));
    const x0 = across.get(from), y0 = down[place], x1 = across.get(to) - aside * passing[place + 1][to] * thick * 0.45, y1 = down[place + 1] + 2, bend = (x1 - x0) * 0.45;
    const by = heads.map(({ head, share: part }) => `${headName(place, head)} ${fine(part)}`).join(", ") || "small parts of heads";
    made.push(drawn("path", {
      d: `M${x0} ${y0}C${x0 + 0.6 * bend} ${y0 - (y0 - y1) * 0.55} ${x1 - bend} ${y1} ${x1} ${y1}`, fill: "none", stroke: blue, "stroke-opacity": strong.has(link) ? 0.9 : 0.25, "stroke-width": (Math.max(1, share * thick) + (strong.has(link) ? 1.4 : 0)).toFixed(1), "data-way": "attention",
    }, undefined, `layer ${layers[place]}: ${quoted(to)} takes ${fine(link.local)} of itself from ${quoted(from)}, which is ${fine(share)} of ${quoted(state.token)}: ${by}`));
    if (!strong.has(link)) continue;
    const name = heads.length ? headName(place, heads[0].head) : `L${layers[place]}`, full = `${fine(share)}${heads.length ? `: ${name} ${fine(heads[0].share)}` : ` in ${name}`}${heads.length > 1 ? `, ${heads.length - 1} more` : ""}`;
    const text = small || 7 * full.length + 16 > (aside > 0 ? x0 : width - x0) ? name : full;
    const long = 7 * text.length + 8, x = aside > 0 ? Math.max(2, x0 - 6 - long) : Math.min(x0 + 6, width - 2 - long), y = y0 - 5;
    if (placed.some((other) => Math.abs(other.y - y) < 15 && x < other.x + other.long && other.x < x + long)) continue;
    placed.push({ x, y, long });
    texts.push(drawn("rect", { x, y: y - 11, width: long, height: 15, rx: 3, fill: card }));
    texts.push(drawn("text", { x: x + long / 2, y, "text-anchor": "middle", "font-size": 11, "font-weight": 600, fill: black, "data-head": name }, text));
  }
  return [...made, ...texts];
}

/** The name of a column above and below, and the share that came straight from it. */
function names(at, x, { above, foot, tilted, direct, chosen, quiet, blue, black }) {
  const one = at === state.token, dim = parked.includes(at), text = tokens[at].length > 12 ? `${tokens[at].slice(0, 11)}…` : tokens[at];
  const name = (y, up) => drawn("text", { ...(tilted ? { transform: `translate(${x + (up ? -2 : 4)} ${y}) rotate(-48)`, "text-anchor": up ? "start" : "end" } : { x, y, "text-anchor": "middle" }), "font-size": tilted ? 12 : 13.5, "font-weight": one ? 700 : 400, fill: one ? chosen : dim ? quiet : black, "data-token": at }, text);
  const share = drawn("text", { x, y: tilted ? above - 9 : 35, "text-anchor": "middle", "font-size": tilted ? 11 : 12, "font-weight": 700, fill: one ? chosen : dim ? quiet : blue }, tilted ? `${Math.round(100 * direct[at])}%` : percent(direct[at]));
  return [name(tilted ? above - 24 : 18, true), share, name(tilted ? foot + 16 : foot + 18, false)];
}

/** The state as the address has it, so that a link restores it. */
const address = () => `#t=${state.token}&k=${state.layer}&at=${Number(state.least.toPrecision(3))}${state.parked ? "&f=1" : ""}`;
function change(changes) {
  Object.assign(state, changes);
  history.replaceState(null, "", address());
  draw();
}

function restore() {
  const from = new URLSearchParams(location.hash.slice(1));
  const whole = (name, fewest, most, other) => { const text = from.get(name), number = Number(text ?? "x"); return text && Number.isInteger(number) && number >= fewest && number <= most ? number : other; };
  const share = Number(from.get("at") ?? "x");
  Object.assign(state, { token: whole("t", 0, SIZE - 1, state.token), layer: whole("k", 1, DEPTH, state.layer), parked: from.get("f") === "1" });
  if (share >= 0.0005 && share <= 1) state.least = share;
}

function save(text, type, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
function key(event) {
  const move = moves[event.key], larger = { "+": 1.25, "-": 0.8 }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey || !(move || larger)) return;
  event.preventDefault();
  if (larger) change({ least: Math.min(1, Math.max(0.0005, state.least * larger)) });
  else change({ token: Math.min(SIZE - 1, Math.max(0, state.token + move[0])), layer: Math.min(DEPTH, Math.max(1, state.layer + move[1])) });
}

function clicked(event) {
  const { token } = event.target.dataset;
  if (token !== undefined) change({ token: Number(token) });
}

async function begin() {
  shares = sharesOf(data, await inflated(bytesOf(data.rest)));
  element("sentence").append(...tokens.map((token, at) => { const button = Object.assign(document.createElement("button"), { type: "button", textContent: token, className: data.joined[at] ? "joined" : "" }); button.dataset.token = at; return button; }));
  element("layer").append(...layers.map((layer, place) => new Option(layer, place + 1)));
  element("least").min = Math.sqrt(0.0005);
  element("layer").addEventListener("change", (event) => change({ layer: Number(event.target.value) }));
  element("least").addEventListener("input", (event) => change({ least: Math.max(0.0005, Number(event.target.value) ** 2) }));
  element("hidden").addEventListener("click", () => change({ parked: !state.parked }));
  element("sentence").addEventListener("click", clicked);
  graph.addEventListener("click", clicked);
  document.querySelector(".graph").addEventListener("keydown", key);
  element("export-svg").addEventListener("click", () => save(graph.outerHTML, "image/svg+xml", "routes.svg"));
  element("export-json").addEventListener("click", () => {
    const { links } = waysTo(shares, SIZE, { ...state, hidden: state.parked ? [] : parked });
    save(JSON.stringify({ chosen: { token: state.token, layer: layers[state.layer - 1], least: state.least }, links: links.map(({ place, to, from, share, heads }) => ({ layer: layers[place], token: to, source: from, share, heads })) }), "application/json", "routes.json");
  });
  document.addEventListener("themechange", draw);
  addEventListener("resize", draw);
  addEventListener("hashchange", () => { restore(); draw(); });
  restore();
  draw();
  document.documentElement.dataset.ready = "";
}
begin();
