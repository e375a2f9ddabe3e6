// The first page of a gallery: a search over the heads of all models.
import { build, said } from "./head_numbers.js";
import { loaded } from "./gallery_data.js";
import { found, parsed } from "./gallery_search.js";

const MOST = 100;
const models = JSON.parse(document.getElementById("models").textContent);
const field = document.getElementById("search");
const results = document.getElementById("results");
const message = document.getElementById("message");
let asked = 0;

async function search() {
  const own = ++asked;
  const text = field.value.trim();
  history.replaceState(null, "", text ? `#${new URLSearchParams({ search: text })}` : location.pathname);
  if (!text) {
    results.replaceChildren();
    message.textContent = "";
    return;
  }
  const every = await Promise.all(models.map((model) => loaded(model.slug, `${model.slug}/heads.js`)));
  if (own !== asked) return;
  const wanted = parsed(text);
  const answers = every.map((all, at) => ({ model: models[at], all, ...found({ ...all, title: models[at].title }, wanted) }));
  const known = answers.filter(({ unknown }) => !unknown.length);
  const rows = known.flatMap(({ model, all, by, shown, heads }) => heads.map((index) => ({ model, all, by, shown, index })));
  const value = ({ by, index }) => by?.values[index] ?? 0;
  const down = wanted.conditions.some(({ sign }) => sign.startsWith("<")) && !wanted.wanted.length;
  rows.sort((one, other) => (down ? value(one) - value(other) : value(other) - value(one)));
  if (!known.length) {
    const names = [...new Set(every.flatMap((all) => all.statistics.map(({ label }) => label)))];
    message.textContent = `Nothing is called “${[...new Set(answers.flatMap(({ unknown }) => unknown))].join("”, “")}” here. There are: layer, ${names.join(", ")}.`;
  } else {
    message.textContent = `${rows.length} ${rows.length === 1 ? "head" : "heads"}${rows.length > MOST ? `, of which the first ${MOST} are shown` : ""}`;
  }
  const table = build("table");
  const top = table.createTHead().insertRow();
  const titles = ["head", "model", ...(rows[0]?.shown.map(({ label }) => label) ?? [])];
  top.append(...titles.map((title) => build("th", { scope: "col" }, title)));
  const body = table.createTBody();
  rows.slice(0, MOST).forEach(({ model, all, shown, index }) => {
    const row = body.insertRow();
    const link = build("a", { href: `${model.slug}/index.html#${all.names[index]}` }, all.names[index].replace("-", " "));
    row.append(build("th", { scope: "row" }, link), build("td", {}, build("bdi", {}, model.title)), ...shown.map((axis) => build("td", {}, said(axis.values[index], axis.unit))));
  });
  results.replaceChildren(...(rows.length ? [table] : []));
}

let waiting;
field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 200); });
document.querySelectorAll("[data-search]").forEach((button) => button.addEventListener("click", () => { field.value = button.dataset.search; search(); }));
field.value = new URLSearchParams(location.hash.slice(1)).get("search") ?? "";
search().catch((problem) => { message.textContent = String(problem.message); });
document.documentElement.dataset.ready = "";
