// One address for each head, `#L4H7`: the card of the head, the next one by a key, all heads as points.
import { showCard } from "./head_card.js";
import { scatter } from "./head_scatter.js";

// `detailOf` gives what is known of the head of an index; `panels` are the elements to write into.
export function headPages(all, panels, detailOf, told = () => {}) {
  const state = { index: -1, asked: 0 };
  const mark = panels.scatter ? scatter(panels.scatter, all, (index) => open(index, true)) : () => {};

  async function open(index, scroll = false) {
    if (index < 0 || index >= all.names.length) return;
    state.index = index;
    const asked = ++state.asked;
    panels.name.textContent = all.names[index].replace("-", " ");
    panels.choice.value = String(index);
    mark(index);
    told(index);
    const detail = await detailOf(index);
    if (asked !== state.asked) return; // another was asked for meanwhile
    const measure = panels.card.querySelector("input[name=texts-by]:checked")?.value ?? all.measures[0]?.[0];
    showCard(panels.card, all, index, detail, measure);
    panels.card.dataset.head = all.names[index];
    if (scroll) panels.name.scrollIntoView({ block: "start" });
  }

  panels.choice.replaceChildren(...all.names.map((name, index) => new Option(name.replace("-", " "), String(index))));
  panels.choice.addEventListener("change", () => open(Number(panels.choice.value)));
  panels.before.addEventListener("click", () => open(state.index - 1));
  panels.after.addEventListener("click", () => open(state.index + 1));

  // As in the view of a text: head by `,` and `.`, layer by `[` and `]`.
  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input:not([type=radio]), select, textarea")) return;
    const layers = [...new Set(all.layers)];
    const first = (layer) => all.layers.indexOf(layer);
    const here = all.layers[state.index], beside = layers[layers.indexOf(here) + (event.key === "]" ? 1 : -1)];
    if (event.key === ",") open(state.index - 1);
    else if (event.key === ".") open(state.index + 1);
    else if ((event.key === "[" || event.key === "]") && beside !== undefined) {
      const across = state.index - first(here);
      open(Math.min(first(beside) + across, all.layers.lastIndexOf(beside)));
    } else return;
    event.preventDefault();
  }

  return { open, key, indexOf: (name) => all.names.indexOf(name), get index() { return state.index; } };
}
