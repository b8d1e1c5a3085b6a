"use strict";
// Runs side by side: a column for each job, repeats together.

const WRITERS = { rate: (value) => `${count(value)} /s`, time: took, share: percent, size, count };
const COLUMNS = CONTENT.columns;

const named = (n) => `[${n + 1}]`;

function shown(spread, write, n) {
  if (!spread) return DASH;
  const noise = spread.n > 1 && spread.value ? ` ± ${percent((spread.high - spread.low) / spread.value / 2)}` : "";
  return `${write(spread.value)}${noise}${n && spread.ratio !== null ? `  ${spread.ratio.toFixed(2)} ×` : ""}`;
}

// A column of the table for each column of the comparison; spreads(column, row) → what is shown.
const besides = (spread, write) => COLUMNS.map((column, n) => ({ term: named(n), value: (row) => spread(column, row)?.value ?? null, cell: (row) => shown(spread(column, row), write(row), n) }));

function runs() {
  const rows = COLUMNS.flatMap((column, n) => column.runs.map((run) => ({ n, run })));
  document.getElementById("head").append(element("h1", {}, "forkrun · comparison"), element("p", {}, "Ratios are to the first column. Repeats of one job are one column: their median, and half of their range."));
  section("runs", "Runs", table("Runs", [
    words("column", (row) => named(row.n)), words("run directory", (row) => row.run.name, { long: true }), words("outcome", (row) => row.run.outcome, { bad: (row) => row.run.outcome !== "done" }),
    numbers("children", (row) => row.run.children), numbers("threads per child", (row) => row.run.threads), numbers("events", (row) => row.run.n_events), words("forkrun", (row) => row.run.kind[1]), words("machine", (row) => row.run.kind[2]), words("configuration", (row) => row.run.kind[0].slice(0, 12)),
  ], rows));
}

function figures() {
  const known = CONTENT.figures.filter((figure) => COLUMNS.some((column) => column.figures[figure.name]));
  section("figures", "Figures", table("Figures", [words("figure", (row) => word(row.word, row.text)), ...besides((column, row) => column.figures[row.name], (row) => WRITERS[row.form])], known, { filter: false }));
}

function times() {
  const labels = [...new Set(COLUMNS.flatMap((column) => Object.keys(column.modules)))], longest = (label) => Math.max(...COLUMNS.map((column) => column.modules[label]?.value ?? 0));
  labels.sort((a, b) => longest(b) - longest(a));
  if (labels.length) section("modules", "Modules", table("Time per event, summed over threads", [words("module or column", (row) => row), ...besides((column, row) => column.modules[row], () => took)], labels));
}

// Bytes of columns, where runs read other ones or others of them.
function input() {
  const names = [...new Set(COLUMNS.flatMap((column) => Object.keys(column.columns)))], most = (name) => Math.max(...COLUMNS.map((column) => column.columns[name]?.value ?? 0));
  names.sort((a, b) => most(b) - most(a));
  if (names.length) section("input", "Input", table("Bytes read of columns, per event", [words("column", (row) => row), ...besides((column, row) => column.columns[row], () => (bytes) => (bytes < 10 ? `${bytes.toFixed(2)} B` : size(bytes)))], names));
}

function events() {
  const labels = [...new Set(COLUMNS.flatMap((column) => Object.keys(column.same_outputs)))];
  const said = (column, label) => ({ true: "the same", false: "DIFFER", null: "not known" })[column.same_outputs[label]] ?? DASH;
  if (labels.length) section("outputs", "Outputs", table("Events of outputs, against the first column", [words("output", (row) => row), ...COLUMNS.map((column, n) => words(named(n), (row) => said(column, row), { bad: (row) => column.same_outputs[row] === false }))], labels));
}

for (const part of [runs, figures, times, input, events]) part();
document.documentElement.dataset.ready = "yes";
