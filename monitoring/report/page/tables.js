"use strict";
// Tables that sort by each column and show the rows that hold a text.

const MOST_ROWS = 200; // at first; a button shows the rest
const MANY_COLUMNS = 9; // of these some are not shown at first where there is no room
const NARROW = 720; // [px]

// columns: {term, shown, text: is it words, detail: not shown where there is no room, cell(row) → string or
// node, value(row) → what it is sorted by}
function table(caption, columns, rows, { filter = rows.length > 8 } = {}) {
  let order = { column: null, sign: 1 }, sought = "", all = false;
  const body = element("tbody"), more = element("p", { class: "note" });
  const off = new Set(columns.length >= MANY_COLUMNS && window.innerWidth < NARROW ? columns.filter((column) => column.detail) : []);
  const heads = columns.map((column) => head(column));

  function head(column) {
    const sort = () => {
      order = { column, sign: order.column === column ? -order.sign : column.text ? 1 : -1 };
      heads.forEach((each, n) => each.setAttribute("aria-sort", columns[n] === column ? (order.sign > 0 ? "ascending" : "descending") : "none"));
      show();
    };
    const shown = column.shown ?? column.term;
    const link = Object.hasOwn(CONTENT.words, column.term) ? element("a", { class: "word", href: `#${anchor(column.term)}`, "aria-label": `what ${shown} means` }, "?") : null;
    return element("th", { scope: "col", class: column.text ? "text" : null, "aria-sort": "none" }, element("button", { type: "button", onclick: sort }, shown), link ? " " : null, link);
  }

  function show() {
    const found = rows.filter((row) => !sought || columns.some((column) => String(textOf(column, row)).toLowerCase().includes(sought)));
    if (order.column) found.sort((a, b) => order.sign * compared(valueOf(order.column, a), valueOf(order.column, b)));
    const shown = all ? found : found.slice(0, MOST_ROWS);
    body.replaceChildren(...shown.map((row) => element("tr", {}, ...columns.map((column) => cell(column, row)))));
    hide();
    more.replaceChildren();
    if (found.length > shown.length) more.append(`${count(shown.length)} of ${count(found.length)} rows. `, element("button", { type: "button", onclick: () => { all = true; show(); } }, "Show all"));
    else if (sought) more.append(`${count(found.length)} of ${count(rows.length)} rows`);
  }

  // Columns that are off are still printed.
  function hide() {
    if (columns.length < MANY_COLUMNS) return;
    for (const row of [heads, ...[...body.rows].map((each) => [...each.cells])]) row.forEach((each, n) => each.classList.toggle("off", off.has(columns[n])));
  }

  function choice() {
    const box = (column) => {
      const tick = element("input", { type: "checkbox", checked: !off.has(column), onchange: () => { if (tick.checked) off.delete(column); else off.add(column); hide(); } });
      return element("label", {}, tick, " ", column.shown ?? column.term);
    };
    return element("details", { class: "choose" }, element("summary", {}, "Columns"), ...columns.slice(1).map(box));
  }

  const input = element("input", { type: "search", "aria-label": `Rows of “${caption}” that hold`, placeholder: "Filter rows", oninput: () => { sought = input.value.trim().toLowerCase(); show(); } });
  show();
  return element("div", {},
    filter ? element("div", { class: "controls" }, input) : null,
    columns.length >= MANY_COLUMNS ? choice() : null,
    element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": `Table: ${caption}` }, element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads)), body)),
    more);
}

function cell(column, row) {
  const given = column.cell(row), classes = [column.text ? "text" : "", column.long ? "long" : "", column.bad?.(row) ? "bad" : ""];
  return element("td", { class: classes.join(" ").trim() || null }, given ?? DASH);
}

const textOf = (column, row) => { const given = column.cell(row); return given instanceof Node ? given.textContent : given ?? ""; };
const valueOf = (column, row) => (column.value ? column.value(row) : textOf(column, row));
function compared(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return a < b ? -1 : 1;
}

// A column of numbers: how they are written, and sorted as numbers.
const numbers = (term, value, write = count, others = {}) => ({ term, value, cell: (row) => write(value(row)), ...others });
const words = (term, cell, others = {}) => ({ term, cell, text: true, ...others });
