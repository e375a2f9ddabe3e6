// The routes of a text: from a chosen token down to the input, along parts that are large enough.
import { isPart, partsOf, routesTo } from "./ways.js";

const data = JSON.parse(document.getElementById("routes").textContent);
const { tokens, layers, shown, least: kept } = data, DEPTH = layers.length;
const TALL = DEPTH > 16 ? 26 : 38, LEFT = 46, RIGHT = 24, ABOVE = 34, BELOW = 92, DOT = 3.2, LONGEST = 12, MOST_NAMES = 70, NARROWEST = 30, WIDEST = 90;
const SPACE = "http://www.w3.org/2000/svg";
const element = (id) => document.getElementById(id), graph = element("graph");
let wide = WIDEST;
const state = { token: tokens.length - 1, layer: DEPTH, least: Math.max(shown, kept), first: false };
const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;
const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
const layerName = (depth) => (depth ? `layer ${layers[depth - 1]}` : "the input");
const headName = (layer, head) => `L${layers[layer]}H${head}`;
const named = (at) => (data.twice[at] ? `${tokens[at]} (${at})` : tokens[at]);

function drawn(name, attributes, text) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const across = (token) => LEFT + wide * (token + 0.5), down = (depth) => ABOVE + TALL * (DEPTH - depth) + TALL / 2;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const isChosen = (depth, token) => depth === state.layer && token === state.token;

function titleOf(way) {
  if (way.kind === "residual") return `${named(way.from)} before ${layerName(way.depth)}: ${percent(way.share)}`;
  const heads = way.heads.map(({ head, share }) => `${headName(way.depth - 1, head)} ${percent(share)}`);
  return `${named(way.to)} → ${named(way.from)}, ${layerName(way.depth)}: ${heads.join(", ")}`;
}

function line(way, ink, blue) {
  const attends = way.kind === "attention", x1 = across(way.from), x2 = across(way.to), y1 = down(way.depth - 1), y2 = down(way.depth);
  const bow = attends && way.from === way.to ? wide * 0.24 : 0;
  const path = drawn("path", {
    d: bow ? `M${x1} ${y1}Q${x1 + 2 * bow} ${(y1 + y2) / 2} ${x2} ${y2}` : `M${x1} ${y1}L${x2} ${y2}`,
    fill: "none", stroke: attends ? blue : ink, "stroke-width": (0.8 + 5 * way.share).toFixed(2), "stroke-opacity": attends ? 0.85 : 0.4, "data-way": way.kind,
  });
  path.append(drawn("title", {}, titleOf(way)));
  return path;
}

/** Names of heads on lines, where there is room for all of them. */
function names(ways, page) {
  const attends = ways.filter((way) => way.kind === "attention");
  if (!element("names").checked || attends.length > MOST_NAMES) return [];
  return attends.map((way) => {
    const more = way.heads.length > 1 ? ` +${way.heads.length - 1}` : "", self = way.from === way.to;
    return drawn("text", {
      x: self ? across(way.to) + wide * 0.2 : across(way.from) + 0.62 * (across(way.to) - across(way.from)), y: down(way.depth - 1) + 0.62 * (down(way.depth) - down(way.depth - 1)) + 3,
      "text-anchor": self ? "start" : "middle", "font-size": 9, stroke: page, "stroke-width": 3, "paint-order": "stroke", "data-head": headName(way.depth - 1, way.heads[0].head),
    }, `${headName(way.depth - 1, way.heads[0].head)}${more}`);
  });
}

function dots(nodes, ink, faint, orange) {
  const made = [];
  for (let depth = 0; depth <= DEPTH; depth += 1) for (let token = 0; token < tokens.length; token += 1) {
    const node = nodes.get(depth * tokens.length + token), x = across(token), y = down(depth);
    const dot = drawn("circle", { cx: x, cy: y, r: isChosen(depth, token) ? 2 * DOT : DOT, fill: node ? ink : faint, "data-depth": depth, "data-token": token });
    dot.append(drawn("title", {}, `${named(token)}, after ${layerName(depth)}`));
    made.push(dot);
    if (node && isPart(node.forward, state.least)) {
      const square = drawn("rect", { x: x - 4, y: y + TALL / 2 - 9, width: 8, height: 8, fill: orange, "fill-opacity": (0.35 + 0.65 * node.forward).toFixed(2), "data-depth": depth, "data-token": token, "data-way": "forward" });
      square.append(drawn("title", {}, `the feed-forward layer of ${layerName(depth)}, at ${named(token)}: ${percent(node.forward)}`));
      made.push(square);
    }
  }
  return made;
}

function labels(quiet) {
  const made = [];
  for (let depth = 0; depth <= DEPTH; depth += 1) {
    if (depth && DEPTH > 16 && layers[depth - 1] % 5) continue;
    made.push(drawn("text", { x: LEFT - 8, y: down(depth) + 4, "text-anchor": "end", fill: quiet }, depth ? `L${layers[depth - 1]}` : "input"));
  }
  tokens.forEach((token, at) => {
    const chosen = at === state.token;
    made.push(drawn("text", { transform: `translate(${across(at) + 4} ${down(0) + 14}) rotate(90)`, "font-weight": chosen ? 700 : 400 }, cut(token)));
    if (data.predicted.length) made.push(drawn("text", { x: across(at), y: ABOVE - 12, "text-anchor": "middle", fill: quiet, "font-size": 10 }, cut(data.predicted[at])));
  });
  return made;
}

function rows(table, head, found) {
  const cells = (tag, values) => {
    const row = document.createElement("tr");
    for (const value of values) row.append(Object.assign(document.createElement(tag), { textContent: value }));
    return row;
  };
  const top = document.createElement("thead"), rest = document.createElement("tbody");
  top.append(cells("th", head));
  rest.append(...found.map((each) => cells("td", each)));
  table.replaceChildren(top, rest);
}

function tell(nodes, ways) {
  const { token, layer } = state;
  element("about-title").textContent = `${named(token)}, after ${layerName(layer)}`;
  const parts = layer ? partsOf(data, layer, token) : null;
  rows(element("about"), ["made of", "share"], !parts ? [["the embedding of the token", ""]] : [
    ["itself before the layer", percent(parts.residual)],
    ...parts.heads.map(({ key, head, share }) => [`${named(key)} by ${headName(layer - 1, head)}`, percent(share)]),
    ...(parts.rest > 0.0005 ? [["smaller parts of heads", percent(parts.rest)]] : []),
    ...(parts.bias > 0.0005 ? [["bias of the projection", percent(parts.bias)]] : []),
    ["then, of the feed-forward layer", percent(parts.forward)],
  ]);
  const heads = new Map();
  for (const way of ways) for (const { head, share } of way.heads ?? []) {
    const name = headName(way.depth - 1, head), had = heads.get(name) ?? { count: 0, most: 0, said: "" };
    const said = `${named(way.to)} → ${named(way.from)}`;
    heads.set(name, { count: had.count + 1, most: Math.max(had.most, share), said: share > had.most ? said : had.said });
  }
  const sorted = [...heads].sort(([, one], [, other]) => other.most - one.most);
  rows(element("heads"), ["head", "links", "most", "its largest"], sorted.map(([name, { count, most, said }]) => [name, count, percent(most), said]));
  const ends = [...nodes.keys()].filter((place) => place < tokens.length).map(named);
  const reached = ends.length ? `It reaches ${ends.length} of ${tokens.length} tokens of the input: ${ends.join(", ")}.` : "It does not reach the input by such parts.";
  element("said").textContent = `${ways.filter((way) => way.kind === "attention").length} links by ${heads.size} heads. ${reached}`;
}

function draw() {
  const { nodes, ways } = routesTo(data, state), [ink, faint, page, quiet] = ["--ink", "--line", "--card", "--quiet"].map(colour);
  wide = Math.max(NARROWEST, Math.min(WIDEST, (graph.parentElement.clientWidth - LEFT - RIGHT) / tokens.length));
  const width = LEFT + wide * tokens.length + RIGHT, height = down(0) + BELOW;
  for (const [name, value] of Object.entries({ xmlns: SPACE, viewBox: `0 0 ${width} ${height}`, width, height })) graph.setAttribute(name, value);
  graph.replaceChildren(...ways.map((way) => line(way, ink, colour("--s-weight"))), ...dots(nodes, ink, faint, colour("--s-norm")), ...names(ways, page), ...labels(quiet));
  tell(nodes, ways);
  element("least-said").textContent = percent(state.least);
  element("least").value = Math.sqrt(state.least);
  element("token").value = state.token;
  element("layer").value = state.layer;
  element("first").checked = state.first;
}

/** The state as the address has it, so that a link restores it. */
const address = () => `#t=${state.token}&k=${state.layer}&at=${Number(state.least.toPrecision(3))}${state.first ? "&f=1" : ""}`;
function change(changes) {
  Object.assign(state, changes);
  history.replaceState(null, "", address());
  draw();
}

function restore() {
  const found = new URLSearchParams(location.hash.slice(1));
  const whole = (name, most, other) => { const text = found.get(name), number = Number(text ?? "x"); return text && Number.isInteger(number) && number >= 0 && number <= most ? number : other; };
  const share = Number(found.get("at") ?? "x");
  Object.assign(state, { token: whole("t", tokens.length - 1, state.token), layer: whole("k", DEPTH, state.layer), first: found.get("f") === "1" });
  if (share >= kept && share <= 1) state.least = share;
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
  if (larger) change({ least: Math.min(1, Math.max(kept, state.least * larger)) });
  else change({ token: Math.min(tokens.length - 1, Math.max(0, state.token + move[0])), layer: Math.min(DEPTH, Math.max(0, state.layer + move[1])) });
}

function begin() {
  element("token").append(...tokens.map((_, at) => new Option(named(at), at)));
  element("layer").append(...Array.from({ length: DEPTH + 1 }, (_, depth) => new Option(depth ? layers[depth - 1] : "the input", depth)));
  element("least").min = Math.sqrt(kept);
  element("token").addEventListener("change", (event) => change({ token: Number(event.target.value) }));
  element("layer").addEventListener("change", (event) => change({ layer: Number(event.target.value) }));
  element("least").addEventListener("input", (event) => change({ least: Math.max(kept, Number(event.target.value) ** 2) }));
  element("first").addEventListener("change", (event) => change({ first: event.target.checked }));
  element("names").addEventListener("change", draw);
  graph.addEventListener("click", (event) => {
    const { depth, token } = event.target.dataset;
    if (depth !== undefined) change({ layer: Number(depth), token: Number(token) });
  });
  document.querySelector(".graph").addEventListener("keydown", key);
  element("export-svg").addEventListener("click", () => save(graph.outerHTML, "image/svg+xml", "routes.svg"));
  element("export-json").addEventListener("click", () => save(JSON.stringify({ chosen: { token: state.token, layer: state.layer ? layers[state.layer - 1] : null, least: state.least }, ways: routesTo(data, state).ways }), "application/json", "routes.json"));
  element("export-link").addEventListener("click", () => navigator.clipboard?.writeText(location.href.split("#")[0] + address()));
  document.addEventListener("themechange", draw);
  addEventListener("resize", draw);
  addEventListener("hashchange", () => { restore(); draw(); });
  restore();
  draw();
}
begin();
document.documentElement.dataset.ready = "";
