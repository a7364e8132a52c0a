// Sort a table by the column whose header is pressed: numbers by size, all else as text; cells
// without a value stay at the end. Without scripts the table is as written.
const keyOf = (cell) => {
  const text = cell.dataset.value ?? cell.textContent.trim().replace("\u2212", "-");
  const number = text.match(/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i);
  return number ? Number(number[0]) : text;
};
const isEmpty = (key) => key === "" || key === "\u2013" || key === "failed" || key === "not run";
const compare = (a, b) =>
  typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => [keyOf(row.cells[column]), row]);
      keyed.sort(([a], [b]) =>
        isEmpty(a) || isEmpty(b) ? isEmpty(a) - isEmpty(b) : sign * compare(a, b));
      body.append(...keyed.map(([, row]) => row));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    });
  });
}
