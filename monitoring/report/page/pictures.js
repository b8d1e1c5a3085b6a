"use strict";
// Small pictures of histograms; a click shows one large.

const MOST_PICTURES = 60; // at first

CHARTS.histograms = () => {
  if (!CONTENT.histograms.length) return [];
  const dialog = element("dialog", { "aria-label": "Histogram" }), grid = element("div", { class: "pictures" }), more = element("p", { class: "note" });
  const enlarge = (each) => {
    dialog.replaceChildren(element("h3", {}, each.name), picture(each, 900, 420, true), element("p", { class: "note" }, about(each)), element("button", { type: "button", onclick: () => dialog.close() }, "Close"));
    dialog.showModal();
  };
  const button = (each) => element("button", { type: "button", onclick: () => enlarge(each) }, picture(each, 240, 120, false), each.name);
  const show = (n) => {
    grid.replaceChildren(...CONTENT.histograms.slice(0, n).map(button));
    more.replaceChildren();
    if (CONTENT.histograms.length > n) more.append(element("button", { type: "button", onclick: () => show(CONTENT.histograms.length) }, `Show all ${count(CONTENT.histograms.length)}`));
  };
  show(MOST_PICTURES);
  return [element("p", { class: "note" }, "As they are in output/histograms.root; very fine bins are joined here. A click enlarges."), grid, more, dialog];
};

const about = (each) => [each.title, `${Number(each.entries.toPrecision(6)).toLocaleString("en-US")} ${each.is_profile ? "entries" : "in all bins"}, under- and overflow included`].filter(Boolean).join(" · ");

function picture(each, width, height, axes) {
  const box = axes ? { left: 70, right: 12, top: 10, bottom: 44 } : { left: 4, right: 4, top: 4, bottom: 4 };
  const inner = { x: box.left, y: box.top, width: width - box.left - box.right, height: height - box.top - box.bottom };
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `Histogram ${each.name}` });
  if (each.axes.length === 1) steps(svg, each, inner, axes);
  else cells(svg, each, inner, axes);
  return svg;
}

function steps(svg, each, inner, axes) {
  const edges = each.axes[0].edges, low = Math.min(0, ...each.values), high = Math.max(0, ...each.values) * 1.05 || 1;
  const x = placed(edges, inner), y = (value) => inner.y + inner.height * (1 - (value - low) / (high - low));
  const path = each.values.map((value, n) => `L${x(edges[n]).toFixed(1)},${y(value).toFixed(1)}H${x(edges[n + 1]).toFixed(1)}`).join("");
  if (axes) { xAxis(svg, each.axes[0], inner, x); for (const at of ticks(low, high, 5)) svg.append(drawn("line", { class: "grid", x1: inner.x, x2: inner.x + inner.width, y1: y(at), y2: y(at) }), drawn("text", { x: inner.x - 6, y: y(at) + 4, "text-anchor": "end" }, written(at, high - low))); }
  svg.append(drawn("path", { class: "bins", d: `M${x(edges[0])},${y(0)}${path}L${x(edges.at(-1))},${y(0)}Z` }));
}

function cells(svg, each, inner, axes) {
  const [first, second] = each.axes, x = placed(first.edges, inner), across = placed(second.edges, { x: 0, width: inner.height });
  const y = (value) => inner.y + inner.height - across(value), high = Math.max(1e-300, ...each.values.flat());
  each.values.forEach((row, j) => row.forEach((value, i) => {
    if (!value) return;
    const left = x(first.edges[i]), top = y(second.edges[j + 1]);
    svg.append(drawn("rect", { x: left.toFixed(1), y: top.toFixed(1), width: Math.max(x(first.edges[i + 1]) - left, 0.5).toFixed(1), height: Math.max(y(second.edges[j]) - top, 0.5).toFixed(1), fill: "var(--parent)", "fill-opacity": (0.08 + 0.92 * Math.max(value / high, 0)).toFixed(2) }));
  }));
  if (!axes) return;
  xAxis(svg, first, inner, x);
  for (const at of ticks(second.edges[0], second.edges.at(-1), 5)) svg.append(drawn("text", { x: inner.x - 6, y: y(at) + 4, "text-anchor": "end" }, written(at, second.edges.at(-1) - second.edges[0])));
}

const placed = (edges, inner) => (value) => inner.x + (inner.width * (value - edges[0])) / (edges.at(-1) - edges[0] || 1);

function xAxis(svg, axis, inner, x) {
  const bottom = inner.y + inner.height, edges = axis.edges;
  const marks = axis.labels.length && axis.labels.length <= 24 ? axis.labels.map((label, n) => [(edges[n] + edges[n + 1]) / 2, label]) : ticks(edges[0], edges.at(-1), 8).map((at) => [at, written(at, edges.at(-1) - edges[0])]);
  for (const [at, text] of marks) svg.append(drawn("text", { x: x(at), y: bottom + 15, "text-anchor": "middle" }, text));
  svg.append(drawn("text", { x: inner.x + inner.width / 2, y: bottom + 36, "text-anchor": "middle" }, axis.title));
}
