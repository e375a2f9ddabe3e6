// The section of single heads in the report of a survey, of each kind of attention one.
import { bytesOf, inflated } from "./bytes.js";
import { headPages } from "./head_pages.js";

const unpacked = async (node) => JSON.parse(new TextDecoder().decode(await inflated(bytesOf(node.textContent.trim()))));

async function part(root) {
  const within = (name) => root.querySelector(`[data-part="${name}"]`);
  const all = await unpacked(within("all"));
  let details;
  const detailOf = async (index) => {
    details ??= unpacked(within("details"));
    return (await details)[index];
  };
  const panels = Object.fromEntries(["scatter", "name", "choice", "before", "after", "card"].map((name) => [name, within(name)]));
  let quiet = true; // the page opens with a head, but not at its address
  const pages = headPages(all, panels, detailOf, (index) => {
    if (!quiet) history.replaceState(null, "", `#${all.names[index]}`);
  });
  const open = (index, scroll) => { quiet = scroll === undefined; pages.open(index, scroll); quiet = false; };
  return { root, pages, open, section: root.closest("section") };
}

async function begin() {
  const parts = await Promise.all([...document.querySelectorAll("[data-head-pages]")].map(part));

  function follow() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const name = wanted.get("head") ?? decodeURIComponent(location.hash.slice(1));
    parts.forEach((one) => {
      const index = one.pages.indexOf(name);
      if (index < 0) return;
      // With a question it is the grid that is asked for, and the card follows.
      if (wanted.has("head")) one.open(index);
      else {
        one.root.dispatchEvent(new CustomEvent("wanted", { bubbles: true }));
        one.open(index, true);
      }
    });
  }

  // Each kind opens on the head of the first finding that it has.
  const told = [...document.querySelectorAll('a[href^="#head="]')].map((link) => new URLSearchParams(link.hash.slice(1)).get("head"));
  parts.forEach((one) => one.open(Math.max(0, one.pages.indexOf(told.find((name) => one.pages.indexOf(name) >= 0) ?? ""))));
  document.addEventListener("headchosen", ({ detail }) => parts.forEach((one) => {
    const index = one.pages.indexOf(detail);
    if (index >= 0) one.open(index);
  }));
  document.addEventListener("keydown", (event) => parts.find((one) => !one.section.hidden)?.pages.key(event));
  window.addEventListener("hashchange", follow);
  follow();
}

begin();
