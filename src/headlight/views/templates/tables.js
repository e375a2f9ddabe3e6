// Tables that are sorted by a click on the name of a column, and stacked on a narrow screen.
(() => {
function sortBy(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  // The first click shows the largest numbers first, but names in their order.
  const was = heads[column].getAttribute("aria-sort");
  const next = was === "none" ? (column === 0 ? "ascending" : "descending") : was === "ascending" ? "descending" : "ascending";
  heads.forEach((head, index) => head.setAttribute("aria-sort", index === column ? next : "none"));
  const sign = next === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows];
  const number = (row) => (row.cells[column].dataset.v === undefined ? null : Number(row.cells[column].dataset.v));
  const text = (row) => row.cells[column].textContent;
  // A column without any number is sorted as words; in others, what is no number comes last.
  const words = rows.every((row) => number(row) === null);
  const compare = words
    ? (a, b) => sign * text(a).localeCompare(text(b), undefined, { numeric: true })
    : (a, b) => (number(a) === null) - (number(b) === null) || (number(a) === null ? 0 : sign * (number(a) - number(b)));
  table.tBodies[0].append(...rows.sort(compare));
}

// On a narrow screen the cells of a row stand below each other, with the names of their columns, if
// the table is wider than the screen.
const narrow = matchMedia("(max-width: 700px)");
function stack() {
  document.querySelectorAll(".sheet").forEach((sheet) => {
    const [head, ...rows] = sheet.querySelectorAll("tr");
    const names = [...head.cells].map((cell) => cell.textContent.trim());
    sheet.classList.remove("stacked");
    if (!narrow.matches || sheet.scrollWidth <= sheet.clientWidth) return;
    rows.forEach((row) => [...row.cells].forEach((cell, column) => { cell.dataset.name = names[column]; }));
    sheet.classList.add("stacked");
  });
}
narrow.addEventListener("change", stack);
window.addEventListener("resize", stack);
document.addEventListener("toggle", stack, true); // a table that is folded away has no width
stack();

document.querySelectorAll("table.sortable").forEach((table) => {
  [...table.tHead.rows[0].cells].forEach((head, column) => head.querySelector("button").addEventListener("click", () => sortBy(table, column)));
});
})();
