"use strict";
// Tables that sort by each column and show the rows that hold a text.

const MOST_ROWS = 200; // at first; a button shows the rest
const FITS = []; // called once the tables are in the page: each leaves out columns for which there is no room
const LONG = 40; // characters of a text that may be broken

// How values are written, as in FORMS of monitoring/tables.py.
const known = (write) => (value) => (value === null || value === undefined || value === "" ? value ?? DASH : write(value));
const FORMS = {
  words: String, text: String, word: ([text, term]) => word(term || text, text), count, time: took, size: (bytes) => (bytes < 10 && bytes % 1 ? `${bytes.toFixed(2)} B` : size(bytes)), share: percent, rate,
  ratio: (value) => value.toFixed(2), number: (value) => String(Number(value.toPrecision(6))),
  efficiency: ({ value, low, high }) => `${percent(value)} (${percent(low)} to ${percent(high)})`,
  measured: ({ value, form, noise, ratio, is_beyond_noise: star }) => `${FORMS[form](value)}${noise === null ? "" : ` ± ${percent(noise / 2)}`}${ratio === null ? "" : `  ${ratio.toFixed(2)} ×${star ? " *" : ""}`}`,
};
const isText = (column) => ["words", "word"].includes(column.form ?? "words");

// A table of monitoring/tables.py. Values are sorted as they are, pairs and records by their first one.
function table({ title: caption, columns, rows: values, bad }) {
  const rows = values.map((row) => ({ values: row, bad: new Set() })), filter = rows.length > 9;
  bad.forEach(([n, m]) => rows[n].bad.add(m));
  columns.forEach((column, n) => { column.n = n; column.most = column.bar && column.form !== "share" ? Math.max(...rows.map((row) => row.values[n])) : 1; });
  let order = { column: null, sign: 1 }, sought = "", all = false;
  const body = element("tbody"), more = element("p", { class: "note" });
  const off = new Set(), ticks = columns.map((column) => element("input", { type: "checkbox", checked: true, onchange: () => { if (ticks[column.n].checked) off.delete(column); else off.add(column); hide(); } }));
  const heads = columns.map((column) => head(column));

  function head(column) {
    const sort = () => {
      order = { column, sign: order.column === column ? -order.sign : isText(column) ? 1 : -1 };
      heads.forEach((each, n) => each.setAttribute("aria-sort", columns[n] === column ? (order.sign > 0 ? "ascending" : "descending") : "none"));
      show();
    };
    const term = column.word ?? column.title;
    const link = Object.hasOwn(CONTENT.words, term) ? element("a", { class: "word", href: `#${anchor(term)}`, "aria-label": `what ${column.title} means` }, "?") : null;
    return element("th", { scope: "col", class: isText(column) ? "text" : null, "aria-sort": "none" }, element("button", { type: "button", onclick: sort }, column.title), link ? " " : null, link);
  }

  function show() {
    const found = rows.filter((row) => !sought || columns.some((column) => cell(column, row).textContent.toLowerCase().includes(sought)));
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
    if (!chosen) return;
    for (const row of [heads, ...[...body.rows].map((each) => [...each.cells])]) row.forEach((each, n) => each.classList.toggle("off", off.has(columns[n])));
  }

  // Those with the highest detail are left out first.
  function fit() {
    let excess = heads.reduce((sum, each) => sum + each.offsetWidth, 0) - scrolled.clientWidth;
    for (const column of columns.filter((each) => each.detail).sort((a, b) => b.detail - a.detail || b.n - a.n)) {
      if (excess <= 0) break;
      excess -= heads[column.n].offsetWidth;
      off.add(column);
      ticks[column.n].checked = false;
    }
    hide();
  }

  const input = element("input", { type: "search", "aria-label": `Rows of “${caption}” that hold`, placeholder: "Filter rows", oninput: () => { sought = input.value.trim().toLowerCase(); show(); } });
  const chosen = columns.some((column) => column.detail);
  const scrolled = element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": `Table: ${caption}` }, element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads)), body));
  show();
  if (chosen) FITS.push(fit);
  return element("div", {},
    filter ? element("div", { class: "controls" }, input) : null,
    chosen ? element("details", { class: "choose" }, element("summary", {}, "Columns"), ...columns.slice(1).map((column) => element("label", {}, ticks[column.n], " ", column.title))) : null,
    scrolled, more);
}

function cell(column, row) {
  const value = row.values[column.n], [part, whole] = column.whole ? value : [value];
  let shown = known(FORMS[column.form ?? "words"])(part);
  if (column.whole && whole !== null && whole !== part) shown += ` of ${FORMS[column.form](whole)}`;
  const bar = column.bar && part !== null ? element("span", { class: "bar", style: `width:${((column.form === "share" ? 8 : 3) * part) / (column.most || 1)}rem` }) : null;
  const classes = [isText(column) ? "text" : "", shown.length > LONG ? "long" : "", row.bad.has(column.n) ? "bad" : ""];
  return element("td", { class: classes.join(" ").trim() || null }, bar, shown);
}

const valueOf = (column, row) => { const value = row.values[column.n]; return Array.isArray(value) ? value[0] : value?.value ?? value; };
function compared(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return a < b ? -1 : 1;
}
