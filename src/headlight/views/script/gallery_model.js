// The page of one model in a gallery: all heads as points, and each at its address.
import { loaded } from "./gallery_data.js";
import { headPages } from "./head_pages.js";

const within = (name) => document.querySelector(`[data-part="${name}"]`);
const panels = Object.fromEntries(["scatter", "name", "choice", "before", "after", "card"].map((name) => [name, within(name)]));

async function begin() {
  const all = await loaded(document.querySelector("[data-slug]").dataset.slug, "heads.js");
  let quiet = true;
  const detailOf = (index) => loaded(all.names[index], `heads/${all.names[index]}.js`);
  const pages = headPages(all, panels, detailOf, (index) => {
    if (!quiet) history.replaceState(null, "", `#${all.names[index]}`);
  });
  const follow = async () => {
    const index = pages.indexOf(decodeURIComponent(location.hash.slice(1)));
    quiet = index < 0;
    const opening = pages.open(Math.max(index, 0), index >= 0);
    quiet = false;
    await opening;
  };
  document.addEventListener("keydown", pages.key);
  window.addEventListener("hashchange", follow);
  await follow();
}

begin()
  .catch((problem) => { panels.card.textContent = String(problem.message); })
  .finally(() => { document.documentElement.dataset.ready = ""; });
