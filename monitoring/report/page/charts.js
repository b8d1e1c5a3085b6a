"use strict";
// Charts against the time of the job, which all show the same stretch of it: drag to zoom, double-click
// for the whole; with the keyboard + and −, arrows, Home.

const MARGIN = { left: 70, right: 12, top: 18, bottom: 36 };

class Stretch {
  constructor(begin, end) { this.begin = begin; this.end = Math.max(end, 1e-3); this.whole(false); this.charts = []; }
  whole(draw = true) { this.from = this.begin; this.to = this.end; if (draw) this.draw(); }
  show(from, to) {
    const whole = this.end - this.begin, length = Math.min(Math.max(to - from, whole * 1e-5), whole);
    this.from = Math.min(Math.max(from, this.begin), this.end - length);
    this.to = this.from + length;
    this.draw();
  }
  scale(factor, at = (this.from + this.to) / 2) { this.show(at - (at - this.from) * factor, at + (this.to - at) * factor); }
  move(share) { const step = share * (this.to - this.from); this.show(this.from + step, this.to + step); }
  draw() { this.charts.forEach((chart) => chart.draw()); }
}

// paint(chart) draws into chart.body, tip(chart, time, y) gives a text or null.
class Chart {
  constructor(stretch, label, height, paint, tip) {
    Object.assign(this, { stretch, height, paint, tip });
    this.svg = drawn("svg", { role: "img", "aria-label": `${label}. + and − zoom, arrows move, Home shows all.`, tabindex: "0" });
    this.node = element("div", { class: "chart" }, this.svg);
    this.bubble = element("div", { class: "tip", hidden: true, role: "status" });
    stretch.charts.push(this);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.node);
  }
  get inner() { return this.width - MARGIN.left - MARGIN.right; }
  x(time) { return MARGIN.left + ((time - this.stretch.from) / (this.stretch.to - this.stretch.from)) * this.inner; }
  time(x) { return this.stretch.from + ((x - MARGIN.left) / this.inner) * (this.stretch.to - this.stretch.from); }

  draw() {
    this.width = Math.max(this.node.clientWidth, 280);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.svg.setAttribute("height", this.height);
    const clip = `clip-${this.stretch.charts.indexOf(this)}`;
    const area = { x: MARGIN.left, y: 0, width: this.inner, height: this.height - MARGIN.bottom };
    this.body = drawn("g", { "clip-path": `url(#${clip})` });
    this.svg.replaceChildren(drawn("defs", {}, drawn("clipPath", { id: clip }, drawn("rect", area))), ...this.timeAxis(), this.body);
    this.paint(this);
  }

  timeAxis() {
    const { from, to } = this.stretch, bottom = this.height - MARGIN.bottom;
    const axis = ticks(from, to, Math.max(this.inner / 110, 2)).map((at) => [
      drawn("line", { class: "grid", x1: this.x(at), x2: this.x(at), y1: MARGIN.top, y2: bottom }),
      drawn("text", { x: this.x(at), y: bottom + 15, "text-anchor": "middle" }, written(at, to - from)),
    ]);
    return [...axis.flat(), drawn("text", { x: MARGIN.left + this.inner / 2, y: this.height - 4, "text-anchor": "middle" }, "time since the job's start [s]")];
  }

  valueAxis(highest, label) {
    const bottom = this.height - MARGIN.bottom, y = (value) => bottom - (value / highest) * (bottom - MARGIN.top);
    for (const at of ticks(0, highest, 5)) {
      this.svg.insertBefore(drawn("line", { class: "grid", x1: MARGIN.left, x2: this.width - MARGIN.right, y1: y(at), y2: y(at) }), this.body);
      this.svg.append(drawn("text", { x: MARGIN.left - 6, y: y(at) + 4, "text-anchor": "end" }, written(at, highest)));
    }
    this.svg.append(drawn("text", { x: 4, y: 12 }, label));
    return y;
  }

  mark(time, text) {
    const x = this.x(time), isRight = x > this.width - MARGIN.right - 8 * text.length; // else it would be cut
    this.body.append(drawn("line", { class: "mark", x1: x, x2: x, y1: MARGIN.top, y2: this.height - MARGIN.bottom }), drawn("text", { x: isRight ? x - 3 : x + 3, y: MARGIN.top - 4, "text-anchor": isRight ? "end" : "start" }, text));
  }

  listen() {
    let begin = null, selection = null;
    const place = (event) => { const box = this.svg.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      begin = place(event)[0];
      selection = drawn("rect", { class: "selection", y: 0, height: this.height - MARGIN.bottom, x: begin, width: 0 });
      this.svg.append(selection);
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (begin !== null) { selection.setAttribute("x", Math.min(begin, x)); selection.setAttribute("width", Math.abs(x - begin)); }
      this.say(event, this.tip(this, this.time(x), y));
    });
    this.svg.addEventListener("pointerup", (event) => {
      if (begin === null) return;
      const [low, high] = [begin, place(event)[0]].sort((a, b) => a - b);
      selection.remove();
      begin = null;
      if (high - low > 5) this.stretch.show(this.time(low), this.time(high));
    });
    this.svg.addEventListener("pointercancel", () => { begin = null; selection?.remove(); });
    this.svg.addEventListener("pointerleave", () => this.say(null, null));
    this.svg.addEventListener("dblclick", () => this.stretch.whole());
    this.svg.addEventListener("keydown", (event) => {
      const act = { "+": () => this.stretch.scale(0.5), "=": () => this.stretch.scale(0.5), "-": () => this.stretch.scale(2), ArrowLeft: () => this.stretch.move(-0.2), ArrowRight: () => this.stretch.move(0.2), Home: () => this.stretch.whole() }[event.key];
      if (act) { act(); event.preventDefault(); }
    });
  }

  say(event, text) {
    this.bubble.hidden = !text;
    if (!text) return;
    if (!this.bubble.isConnected) document.body.append(this.bubble);
    this.bubble.textContent = text;
    this.bubble.style.left = `${Math.min(event.clientX + 14, window.innerWidth - 320)}px`;
    this.bubble.style.top = `${event.clientY + 14}px`;
  }
}

function ticks(from, to, most) {
  const raw = (to - from) / most, power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= raw);
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, n) => (first + n) * step);
}

const written = (value, range) => value.toLocaleString("en-US", { maximumFractionDigits: Math.min(Math.max(0, Math.ceil(1.5 - Math.log10(range || 1))), 9) });

function zoomControls(stretch, ...others) {
  const button = (text, act, label) => element("button", { type: "button", onclick: act, "aria-label": label }, text);
  return element("div", { class: "controls" }, button("+", () => stretch.scale(0.5), "Zoom in"), button("−", () => stretch.scale(2), "Zoom out"), button("←", () => stretch.move(-0.3), "Earlier"), button("→", () => stretch.move(0.3), "Later"), button("Whole job", () => stretch.whole(), "Show the whole job"), ...others);
}

const keys = (entries) => element("ul", { class: "keys" }, ...entries.map(([colour, text]) => element("li", {}, element("i", { style: `background:${colour}` }), text)));

// Index of the last of ascending values that is at most `value`; −1: none.
function lastAtMost(n, valueAt, value) {
  let low = 0, high = n;
  while (low < high) { const middle = (low + high) >> 1; if (valueAt(middle) <= value) low = middle + 1; else high = middle; }
  return low - 1;
}

// --- memory -----------------------------------------------------------------------------------------

function memoryChart(stretch, memory, marks) {
  const { time_s: times, layers } = memory;
  const alone = Math.max(...memory.unshared, 1), most = Math.max(...times.map((_, n) => layers.reduce((sum, each) => sum + each.values[n], 0)), 1);
  const highest = alone > 3 * most ? 1.4 * most : 1.08 * alone, [unit, factor] = highest > 2e6 ? ["GB", 1e6] : ["MB", 1e3];
  const paint = (chart) => {
    const y = chart.valueAxis(highest / factor, `memory [${unit}]`), at = (value) => y(value / factor).toFixed(1), x = times.map((time) => chart.x(time).toFixed(1));
    let floor = new Array(times.length).fill(0);
    layers.forEach((layer, number) => {
      const top = floor.map((value, n) => value + layer.values[n]);
      const path = `M${x.map((each, n) => `${each},${at(top[n])}`).join("L")}L${x.map((each, n) => `${each},${at(floor[n])}`).reverse().join("L")}Z`;
      chart.body.append(drawn("path", { class: "area", d: path, fill: layerColour(number, layers) }));
      floor = top;
    });
    chart.body.append(drawn("path", { d: `M${x.map((each, n) => `${each},${at(memory.unshared[n])}`).join("L")}`, fill: "none", stroke: "var(--unshared)", "stroke-dasharray": "6 4" }));
    if (alone > highest) chart.body.append(drawn("text", { x: MARGIN.left + 8, y: MARGIN.top + 12 }, `if nothing were shared: up to ${size(1000 * alone)}, above this picture`));
    marks.forEach(([time, text]) => chart.mark(time, text));
  };
  const tip = (_, time) => {
    const n = lastAtMost(times.length, (i) => times[i], time);
    if (n < 0) return null;
    const whole = layers.reduce((sum, each) => sum + each.values[n], 0), shared = layers[0].values[n];
    return `${times[n].toFixed(2)} s\nshared ${size(1000 * shared)}\nprivate ${size(1000 * (whole - shared))}\nin all ${size(1000 * whole)}\nif nothing were shared ${size(1000 * memory.unshared[n])}`;
  };
  return new Chart(stretch, "Memory of parent and children against time", 320, paint, tip);
}

// What the job takes and what as many separate processes would take, on one scale; then the first one enlarged.
function sharing({ peak, parts, limit_bytes: limit }) {
  const own = [{ name: "shared by all, once", bytes: peak.shared_bytes, colour: "var(--shared)" }, ...parts.map((part, n) => ({ name: `${part.name}, private`, bytes: part.private_bytes, colour: partColour(n, parts.length) }))];
  const alone = parts.map((part, n) => ({ name: `${part.name}, by itself`, bytes: part.rss_bytes, colour: partColour(n, parts.length) }));
  const most = Math.max(peak.rss_bytes, limit ?? 0, 1);
  const bar = (text, pieces, scale, line) => [element("div", {}, text), element("div", { class: "stack", role: "img", "aria-label": `${text}: ${pieces.map((each) => `${each.name} ${size(each.bytes)}`).join(", ")}` }, ...pieces.map((each) => element("span", { style: `width:${(100 * each.bytes) / scale}%;background:${each.colour}`, title: `${each.name}: ${size(each.bytes)}` })), line ? element("i", { style: `left:${(100 * line) / scale}%`, title: `limit ${size(line)}` }) : null)];
  const others = limit ? ` · limit ${size(limit)} (the line)` : "";
  return element("div", { class: "sharing" }, ...bar(`Without forking: ${size(peak.rss_bytes)}`, alone, most, limit), ...bar(`This job at its peak: ${size(peak.pss_bytes)}${others}`, own, most, limit), ...bar(`The same, enlarged: ${size(peak.shared_bytes)} shared, ${size(peak.private_bytes)} private`, own, peak.pss_bytes || 1));
}

const partColour = (n, of) => (n ? childColour(n - 1, of - 1) : "var(--parent)");
const layerColour = (n, layers) => (n ? partColour(n - 1, layers.length - 1) : "var(--shared)");
const childColour = (n, of) => `hsl(${42 - (26 * n) / Math.max(of - 1, 1)} 78% ${n % 2 ? 54 : 62}%)`;

const STRETCH = new Stretch(CONTENT.begin_s, CONTENT.end_s), MERGED = CONTENT.parent.find((bar) => bar.what === "merge");
const MARKS = [...CONTENT.sessions_s.slice(CONTENT.report.nodes.length ? Infinity : 1).map((time) => [time, "resumed"]), ...(MERGED ? [[MERGED.start_s, "merge"]] : [])];
requestAnimationFrame(() => STRETCH.draw());

CHARTS.memory = () => {
  const known = CONTENT.report.memory;
  if (!known) return [];
  const bars = [element("p", { class: "note" }, "What each process has at the ", word("peak memory", "peak"), ", and what they have in ", word("shared", "common"), ". By itself, each would count all that it maps: ", word("if nothing were shared"), "."), sharing(known)];
  if (!CONTENT.memory) return bars;
  const { layers } = CONTENT.memory, chart = memoryChart(STRETCH, CONTENT.memory, MARKS);
  return [...bars, element("p", { class: "note" }, "Against time, the height is memory that the job really takes, the sum of ", word("PSS"), "; ", word("private"), " parts lie on what is shared. Dashed: if nothing were shared."), zoomControls(STRETCH), chart.node, keys(layers.map((each, n) => [layerColour(n, layers), each.name]))];
};

// --- nodes ------------------------------------------------------------------------------------------

const STATES = [["not begun", "var(--line)"], ["in the queue", "#e0b040"], ["start-up", "#7b8794"], ["processing", "#2f6db3"], ["shut-down", "#d9822b"], ["between sessions", "#b3261e"], ["ended", "#3d8f5f"]];

// How many nodes are in which state: [time, state] at each change of one, on the clock of the job.
function changesOf(node, start) {
  const { first_event_s: first, end_s: end } = node, found = node.submitted_s.map((time) => [time - start, 1]);
  node.sessions.forEach(({ start_s, end_s }, n) => {
    const [from, to] = [start_s - start, end_s - start];
    found.push([from, first === null || from < first ? 2 : 3]);
    if (first !== null && from < first && first <= to) found.push([first, 3]);
    if (end !== null && from < end && end <= to) found.push([end, 4]);
    found.push([to, n + 1 < node.sessions.length ? 5 : 6]);
  });
  return found.sort((a, b) => a[0] - b[0]).map(([time, state], n) => [time, state, n ? found[n - 1][1] : 0]);
}

CHARTS.nodes = () => {
  const { nodes, sessions } = CONTENT.report, known = nodes.filter((node) => node.sessions.length);
  if (!known.length) return [];
  const start = Math.min(...sessions.map((each) => each.start_s)), collected = sessions.filter((each) => each.node === null).slice(-1);
  const changes = known.flatMap((node) => changesOf(node, start)).sort((a, b) => a[0] - b[0]), counts = STATES.map((_, state) => (state ? 0 : nodes.length));
  const points = [[CONTENT.begin_s, [...counts]], ...changes.map(([time, to, from]) => { counts[from] -= 1; counts[to] += 1; return [Math.max(time, CONTENT.begin_s), [...counts]]; }), [CONTENT.end_s, [...counts]]];
  const under = (values, state) => values.slice(state).reduce((sum, each) => sum + each, 0);
  const paint = (chart) => {
    const y = chart.valueAxis(nodes.length, "nodes");
    STATES.forEach(([, colour], state) => {
      const line = points.slice(1).map(([time, values]) => `H${chart.x(time).toFixed(1)}V${y(under(values, state)).toFixed(1)}`).join("");
      chart.body.append(drawn("path", { class: "area", fill: colour, d: `M${chart.x(points[0][0])},${y(0)}V${y(under(points[0][1], state)).toFixed(1)}${line}V${y(0)}Z` }));
    });
    collected.forEach((each) => chart.mark(each.start_s - start, "collect"));
  };
  const tip = (_, time) => { const n = lastAtMost(points.length, (i) => points[i][0], time); return n < 0 ? null : `${time.toFixed(1)} s\n${STATES.map(([name], state) => `${name} ${count(points[n][1][state])}`).join("\n")}`; };
  const chart = new Chart(STRETCH, "Nodes by what they do, against time", 240, paint, tip);
  return [element("p", { class: "note" }, "How many nodes do what, on one clock; it begins with the first node."), zoomControls(STRETCH), chart.node, keys(STATES.map(([name, colour]) => [colour, name]))];
};
