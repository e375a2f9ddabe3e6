// What a chosen position looks at and takes, drawn over the picture that was read: weight beside norm.
import { header } from "./host.js";
import { partOf } from "./numbers.js";
import { state } from "./state.js";
import { drawn } from "./svg.js";

const WIDEST = 440, GAP = 20, ABOVE = 22, SPECIAL = 30, LINE = 40, NARROW = 420, STRONGEST = 0.85;
const NAMES = { weight: "looks at: weight", norm: "takes: norm" };
const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;

/** Row and column of the patch that a position is; nothing of positions for class or registers, or of words. */
const patchOf = (token) => /^(?:image 1 )?(\d+)×(\d+)$/.exec(token)?.slice(1).map(Number);

/** Draw the picture once for each measure, coloured by shares on one scale; returns what was drawn and its size. */
export function drawOverPicture(room, query, sides) {
  const { tokens, texts } = partOf(state.kind).keys, patches = tokens.map(patchOf);
  const rows = 1 + Math.max(...patches.map((at) => at?.[0] ?? 0)), columns = 1 + Math.max(...patches.map((at) => at?.[1] ?? 0));
  const shown = Object.keys(NAMES).filter((name) => sides[name]), beside = room >= NARROW ? shown.length : 1;
  const size = Math.min((room - GAP * (beside - 1)) / beside, WIDEST) / columns, wide = size * columns, high = size * rows;
  const top = Math.max(1e-6, ...shown.flatMap((name) => sides[name].filter((_, at) => patches[at])));
  const others = tokens.map((_, at) => at).filter((at) => !patches[at]), across = 74, inLine = Math.max(1, Math.floor(wide / across));
  const whole = ABOVE + high + (others.length ? 16 + LINE * Math.ceil(others.length / inLine) : 0) + GAP, made = [];
  shown.forEach((name, place) => {
    const left = beside > 1 ? place * (wide + GAP) : 0, above = ABOVE + (beside > 1 ? 0 : place * whole);
    made.push(drawn("text", { x: left, y: above - 7, class: "label" }, `${NAMES[name]}, at most ${percent(Math.max(0, ...sides[name].filter((_, key) => patches[key])))} on a patch`));
    made.push(drawn("image", { href: header.picture, x: left, y: above, width: wide, height: high, preserveAspectRatio: "none" }));
    const cell = (at, x, y, width, height) => {
      const share = sides[name][at], title = `${tokens[at]}: ${percent(share)} of the ${name}${share > top ? `, beyond the scale, which ends at ${percent(top)}` : ""}`;
      const look = { fill: `var(--s-${name})`, "fill-opacity": (STRONGEST * Math.sqrt(Math.min(share / top, 1))).toFixed(3) };
      made.push(drawn("rect", { x, y, width, height, ...look, "data-token": at, "data-patch": name }, undefined, title));
    };
    tokens.forEach((_, at) => { if (patches[at]) cell(at, left + size * patches[at][1], above + size * patches[at][0], size, size); });
    others.forEach((at, number) => {
      const x = left + across * (number % inLine), y = above + high + 8 + LINE * Math.floor(number / inLine);
      cell(at, x, y, across - 3, SPECIAL - 8);
      made.push(drawn("rect", { x, y, width: across - 3, height: SPECIAL - 8, class: "frame" }));
      made.push(drawn("text", { x, y: y + SPECIAL + 6, class: "value", "data-token": at }, `${texts[at].length > 6 ? `${texts[at].slice(0, 5)}…` : texts[at]} ${percent(sides[name][at])}${sides[name][at] > top ? " ▲" : ""}`));
    });
    const own = patches[query], at = others.indexOf(query);
    const frame = own ? { x: left + size * own[1], y: above + size * own[0], width: size, height: size } : { x: left + across * (at % inLine), y: above + high + 8 + LINE * Math.floor(at / inLine), width: across - 3, height: SPECIAL - 8 };
    made.push(drawn("rect", { ...frame, class: "halo" }), drawn("rect", { ...frame, class: "looking" }));
  });
  return { made, width: beside > 1 ? shown.length * wide + GAP * (shown.length - 1) : wide, height: whole * (beside > 1 ? 1 : shown.length) };
}
