// Sort a table by the column whose header is pressed: numbers by size, all else as text; cells
// without a value stay at the end. Without scripts the table stays as written.
const keyOf = (cell) => {
  const text = cell.dataset.value ?? cell.textContent.trim().replace("\u2212", "-");
  const number = text.match(/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i);
  return number ? Number(number[0]) : text;
};
const isEmpty = (key) => key === "" || key === "\u2013" || key === "failed" || key === "not run";
const compare = (a, b) =>
  typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
const sortBy = (table, column, sign) => {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const keyed = [...body.rows].map((row) => [keyOf(row.cells[column]), row]);
  keyed.sort(([a], [b]) =>
    isEmpty(a) || isEmpty(b) ? isEmpty(a) - isEmpty(b) : sign * compare(a, b));
  body.append(...keyed.map(([, row]) => row));
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
};
// Cards have no header to press.
const addOrder = (table, names) => {
  const order = document.createElement("label");
  const choice = document.createElement("select");
  choice.append(new Option("as written", "", true));
  names.forEach((name, column) => {
    choice.append(new Option(`${name} \u2191`, `${column} 1`));
    choice.append(new Option(`${name} \u2193`, `${column} -1`));
  });
  choice.addEventListener("change", () => {
    choice.options[0].disabled = true;
    sortBy(table, ...choice.value.split(" ").map(Number));
  });
  order.className = "order";
  order.append("Order: ", choice);
  table.before(order);
};
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.map((head) => head.textContent);
  for (const row of table.querySelectorAll("tbody tr, tfoot tr")) {
    [...row.cells].forEach((cell, column) => {
      cell.dataset.label = names[column];
      cell.classList.toggle("none", ["", "\u2013"].includes(cell.textContent));
    });
  }
  if (!table.classList.contains("sortable")) continue;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () =>
      sortBy(table, column, head.getAttribute("aria-sort") === "ascending" ? -1 : 1));
  });
  addOrder(table, names);
}

// Content that is wider than its region scrolls there, and its edge fades; on a phone, a table that
// does not fit becomes cards, unless there would be too many.
const MAX_CARDS = 60;
const phone = matchMedia("(max-width: 40rem)");
const mark = (region) => region.classList.toggle(
  "more", region.scrollWidth - region.clientWidth - region.scrollLeft > 1);
const fit = (region) => {
  const rows = region.querySelectorAll("tbody tr").length;
  region.classList.remove("cards");
  const wide = region.scrollWidth > region.clientWidth;
  region.classList.toggle("cards", phone.matches && wide && rows > 0 && rows <= MAX_CARDS);
  mark(region);
};
const widths = new WeakMap();
const resized = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    if (widths.get(target) === contentRect.width) continue; // cards change the height only
    widths.set(target, contentRect.width);
    fit(target);
  }
});
for (const region of document.querySelectorAll(".scroll")) {
  region.addEventListener("scroll", () => mark(region), { passive: true });
  resized.observe(region);
}
