// All heads as points: two of their numbers, whichever are chosen.
import { build, said } from "./head_numbers.js";
import { drawn } from "./svg.js";

/** On a phone a narrower sheet, whose words are not made small. */
const WIDE = matchMedia("(max-width: 700px)").matches ? 380 : 640, HIGH = 420, LEFT = 76, BELOW = 44, EDGE = 14;

// All numbers of heads: a name for the address, a label, a unit, the values.
export function axes(all) {
  const label = Object.fromEntries(all.measures.map(([name, short]) => [name, short]));
  return [
    { name: "layer", label: "layer", unit: "", values: all.layers },
    ...all.statistics.flatMap((each) => Object.entries(each.by).map(([measure, [values]]) => ({
      name: measure ? `${each.name}.${measure}` : each.name,
      label: measure ? `${each.label}, ${label[measure] ?? measure}` : each.label,
      unit: each.unit,
      values,
    }))),
  ];
}

function range(values) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return [0, 1];
  const low = Math.min(...known), high = Math.max(...known);
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

// Round numbers, six at most; of whole numbers, whole ones.
function ticks(values, [low, high]) {
  const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough * 0.999);
  const even = values.every((value) => value === null || Number.isInteger(value)) ? Math.max(step, 1) : step;
  const first = Math.ceil(low / even);
  return Array.from({ length: Math.floor(high / even) - first + 1 }, (_, at) => (first + at) * even);
}

export function scatter(root, all, choose) {
  const known = axes(all);
  const select = (name, first) => {
    const made = build("select", { "aria-label": `${name} axis`, name });
    known.forEach((axis) => made.append(build("option", { value: axis.name }, axis.label)));
    made.value = known.some((axis) => axis.name === first) ? first : known[known.length - 1].name;
    return made;
  };
  const across = select("horizontal", "layer");
  const up = select("vertical", ["entropy.weight", "entropy.norm"].find((name) => known.some((axis) => axis.name === name)));
  const svg = drawn("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "scatter scale-blue", role: "img" });
  const layers = [...new Set(all.layers)];
  let current = -1;

  function draw() {
    const [x, y] = [across, up].map((one) => known.find((axis) => axis.name === one.value));
    const [xs, ys] = [range(x.values), range(y.values)];
    const right = (value) => LEFT + ((value - xs[0]) / (xs[1] - xs[0])) * (WIDE - LEFT - EDGE);
    const top = (value) => HIGH - BELOW - ((value - ys[0]) / (ys[1] - ys[0])) * (HIGH - BELOW - EDGE);
    const parts = [drawn("path", { class: "axis", d: `M${LEFT - 8} ${EDGE}V${HIGH - BELOW + 8}H${WIDE - EDGE}` })];
    ticks(x.values, xs).forEach((at) => parts.push(drawn("text", { x: right(at), y: HIGH - BELOW + 22, "text-anchor": "middle" }, said(at, x.unit))));
    ticks(y.values, ys).forEach((at) => parts.push(drawn("text", { x: LEFT - 12, y: top(at) + 4, "text-anchor": "end" }, said(at, y.unit))));
    parts.push(drawn("text", { x: WIDE - EDGE, y: HIGH - 4, "text-anchor": "end" }, x.label));
    all.names.forEach((name, index) => {
      if (x.values[index] === null || y.values[index] === null) return;
      // Layers run from light to dark, none so light that it is not seen.
      const step = 7 + Math.round((13 * layers.indexOf(all.layers[index])) / Math.max(layers.length - 1, 1));
      const point = drawn("circle", { cx: right(x.values[index]), cy: top(y.values[index]), r: index === current ? 8 : 5, class: `q${step}${index === current ? " chosen" : ""}`, "data-head": index });
      point.append(drawn("title", {}, `${name}: ${x.label} ${said(x.values[index], x.unit)}, ${y.label} ${said(y.values[index], y.unit)}`));
      parts.push(point);
    });
    svg.replaceChildren(...parts);
    svg.setAttribute("aria-label", `${all.names.length} heads by ${x.label} and ${y.label}; the table of each head has the numbers`);
  }

  [across, up].forEach((one) => one.addEventListener("change", draw));
  svg.addEventListener("click", (event) => {
    const point = event.target.closest("circle");
    if (point) choose(Number(point.dataset.head));
  });
  root.replaceChildren(
    build("p", { class: "axes" }, build("label", {}, "up ", up), build("label", {}, "across ", across), build("span", { class: "quiet small" }, "darker: later layers; a click opens the head")),
    svg,
  );
  draw();
  return (index) => { current = index; draw(); };
}
