// Tables that are sorted by a click on the name of a column.
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

document.querySelectorAll("table.sortable").forEach((table) => {
  [...table.tHead.rows[0].cells].forEach((head, column) => head.querySelector("button").addEventListener("click", () => sortBy(table, column)));
});
})();
