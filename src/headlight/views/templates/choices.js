// Of pictures of one section, and of several kinds of attention, one is shown at a time; without a
// script all stand one below the other.
(() => {
const contents = document.querySelector("nav.contents details"); // beside the page where it is wide
if (contents && window.innerWidth < 1200) contents.open = false;
// What the address names is shown, also within what is folded.
function unfold() {
  const named = document.getElementById(location.hash.slice(1));
  if (!named) return;
  if (named.matches(".exhibit")) named.querySelector(".section")?.setAttribute("open", "");
  openAround(named);
  named.scrollIntoView();
}
function openAround(named) {
  for (let around = named; around; around = around.parentElement?.closest("details")) if (around.matches("details")) around.open = true;
}
document.addEventListener("wanted", ({ target }) => openAround(target));
window.addEventListener("hashchange", unfold);
unfold();
document.querySelectorAll("[data-pictures]").forEach((set) => {
  const figures = [...set.parentElement.querySelectorAll(".picture[data-choice]")];
  const show = () => {
    const chosen = set.querySelector("input:checked").value;
    figures.forEach((figure) => { figure.hidden = figure.dataset.choice !== chosen; });
  };
  set.addEventListener("change", show);
  show();
});

const kinds = document.querySelector("[data-kinds]");
if (!kinds) return;
const sections = [...document.querySelectorAll(".exhibit")];
function showKind(kind) {
  sections.forEach((section) => { section.hidden = section.dataset.group !== kind; });
  kinds.querySelector(`input[value="${kind}"]`).checked = true;
}
// What the address names is shown, whichever kind it is of.
function follow() {
  const named = document.getElementById(location.hash.slice(1));
  const section = named?.closest(".exhibit");
  if (section) { showKind(section.dataset.group); named.scrollIntoView(); }
}
kinds.addEventListener("change", (event) => showKind(event.target.value));
sections.forEach((section) => section.addEventListener("wanted", () => showKind(section.dataset.group)));
window.addEventListener("hashchange", follow);
showKind(sections[0].dataset.group);
follow();
})();
