// The statistics of a head as a table, in the report of a survey and in the view of a text.
// Texts of a corpus are data: they become text nodes, never markup.

export function build(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.append(...children);
  return node;
}

export function said(value, unit) {
  if (value === null || value === undefined) return "–";
  const minus = (text) => text.replace("-", "−");
  if (unit === "share") return minus(`${(100 * value).toFixed(1)}%`);
  return minus(value === 0 ? "0" : Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(3))));
}

export function table(caption, titles, rows) {
  const made = build("table");
  const top = made.createTHead().insertRow();
  titles.forEach((title) => top.append(title ? build("th", { scope: "col" }, title) : build("td")));
  const body = made.createTBody();
  rows.forEach(([first, ...cells]) => {
    const row = body.insertRow();
    row.append(build("th", { scope: "row" }, first), ...cells.map((cell) => build("td", {}, cell)));
  });
  const sheet = build("div", { class: "sheet", tabindex: "0", role: "region", "aria-label": caption }, made);
  return build("div", {}, build("p", { class: "help small" }, caption), sheet);
}

// How many heads have more; of equal ones all have the same rank, and none if all heads are equal.
function rankOf(values, index) {
  const known = values.filter((value) => value !== null);
  if (values[index] === null || known.every((value) => value === values[index])) return null;
  return 1 + known.filter((value) => value > values[index]).length;
}

// Its rank as far as intervals decide it: 1, or 1–3 where those of two others reach its own.
function ranksOf([values, low, high], index) {
  const rank = rankOf(values, index);
  if (rank === null || !low || low[index] === null || high[index] === null) return rank;
  const others = values.map((_, other) => other).filter((other) => other !== index && low[other] !== null);
  const first = 1 + others.filter((other) => low[other] > high[index]).length;
  const last = 1 + others.filter((other) => high[other] >= low[index]).length;
  return first === last ? first : `${first}–${last}`;
}

function number(row, three, index) {
  const [value, low, high] = three.map((each) => each[index]);
  if ((low ?? high ?? null) === null) return [said(value, row.unit), ""];
  // Half the interval behind ±, of a share in points, as in the tables of pages.
  const half = (high - low) / 2;
  return [said(value, row.unit), ` ±${row.unit === "share" ? (100 * half).toFixed(1) : String(Number(half.toPrecision(1)))}`];
}

function cell(row, measure, index) {
  const three = row.by[measure];
  if (!three || three[0][index] === null) return "–";
  const [value, ends] = number(row, three, index);
  // Of few rows of attention nothing is ranked.
  const rank = row.few || row.relation ? null : ranksOf(three, index);
  const made = build("span", {}, build("b", {}, value), build("span", { class: "quiet" }, ends), build("span", { class: "rank" }, rank === null ? "" : ` #${rank}`));
  const corpus = row.corpus?.[measure];
  if (corpus && corpus[0][index] !== null) made.append(build("span", { class: "quiet" }, ` corpus ${number(row, corpus, index).join("")}`));
  return made;
}

// What the head does, what it does more than others first: value, interval and rank by each measure.
export function statisticsTable(caption, statistics, measures, index, unit, from = 0, to = undefined) {
  const rows = statistics.filter((each) => Object.values(each.by).some(([values]) => values[index] !== null));
  // Of many that are equal, as where none does it, none stands out.
  const rank = (each) => {
    const [values] = each.by[measures[0]?.[0]] ?? Object.values(each.by)[0];
    const equal = values.filter((value) => value === values[index]).length;
    return each.few || each.relation ? Infinity : (rankOf(values, index) ?? Infinity) + (equal - 1) / 2;
  };
  const units = { nats: ", nats", tokens: `, ${unit}s` };
  return table(caption, ["", ...measures.map(([, label]) => label)], [...rows].sort((one, other) => rank(one) - rank(other)).slice(from, to).map((each) => {
    const words = `${each.label}${units[each.unit] ?? ""}${each.relation ? ", found in the corpus" : ""}`;
    const label = build("span", { title: each.help ?? "" }, words, build("span", { class: "quiet" }, each.rows ? ` (${each.rows})` : ""));
    return [label, ...("" in each.by ? [cell(each, "", index), ...measures.slice(1).map(() => "")] : measures.map(([name]) => cell(each, name, index)))];
  }));
}
