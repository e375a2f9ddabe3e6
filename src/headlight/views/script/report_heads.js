// The section of single heads in the report of a survey, of each kind of attention one.
import { bytesOf, inflated } from "./bytes.js";
import { headPages } from "./head_pages.js";

const parts = [...document.querySelectorAll("[data-head-pages]")].map((root) => {
  const within = (name) => root.querySelector(`[data-part="${name}"]`);
  const all = JSON.parse(within("all").textContent);
  let details;
  const detailOf = async (index) => {
    details ??= inflated(bytesOf(within("details").textContent.trim())).then((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
    return (await details)[index];
  };
  const panels = Object.fromEntries(["scatter", "name", "choice", "before", "after", "card"].map((name) => [name, within(name)]));
  const section = root.closest("section");
  let quiet = true; // the page opens with a head, but not at its address
  const pages = headPages(all, panels, detailOf, (index) => {
    if (!quiet) history.replaceState(null, "", `#${all.names[index]}`);
  });
  return { root, pages, section, open: (index, scroll) => { quiet = scroll === undefined; pages.open(index, scroll); quiet = false; } };
});

function follow() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const name = wanted.get("head") ?? decodeURIComponent(location.hash.slice(1));
  parts.forEach((part) => {
    const index = part.pages.indexOf(name);
    if (index < 0) return;
    // With a question it is the grid that is asked for, and the card follows.
    if (wanted.has("head")) part.open(index);
    else {
      part.root.dispatchEvent(new CustomEvent("wanted", { bubbles: true }));
      part.open(index, true);
    }
  });
}

parts.forEach((part) => part.open(0));
document.addEventListener("headchosen", ({ detail }) => parts.forEach((part) => {
  const index = part.pages.indexOf(detail);
  if (index >= 0) part.open(index);
}));
document.addEventListener("keydown", (event) => parts.find((part) => !part.section.hidden)?.pages.key(event));
window.addEventListener("hashchange", follow);
follow();
