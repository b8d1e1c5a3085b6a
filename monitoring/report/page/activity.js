"use strict";
// What each child did when: its commits, or what its threads spent their time on.

const RUN_SHADES = [["#2f6db3", "#86b1de"], ["#d9822b", "#f2bd86"], ["#3d8f5f", "#93cbab"], ["#8458b3", "#c2a5e0"]];
const KINDS = ["reading", "unpacking", "processing", "committing"];
const KIND_COLOURS = { reading: "#c4512d", unpacking: "#e0b040", processing: "#2f6db3", committing: "#3d8f5f" };
const PARENT_COLOURS = { "index and plan": "#7b8794", "modules and conditions": "#4b5d78", fork: "#b3261e", merge: "#8458b3" };

function activityChart(stretch, marks) {
  const rows = CONTENT.activity, failed = new Map(CONTENT.report.children.filter((child) => child.failed).map((child) => [child.child, child]));
  const runs = [...new Set(rows.flatMap((row) => row.bars.map((bar) => bar[2])))].sort((a, b) => a - b);
  const courses = grouped(CONTENT.courses);
  const pitch = Math.max(3, Math.min(courses.size ? 34 : 20, Math.floor(460 / Math.max(rows.length, 1)))), thickness = pitch > 6 ? pitch - 4 : pitch - 0.5;
  const rate = (bar) => bar[5] / Math.max(bar[1] - bar[0], 1e-6), fastest = rows.reduce((most, row) => row.bars.reduce((a, bar) => Math.max(a, rate(bar)), most), 1e-9);
  const colours = {
    lumi: (bar) => RUN_SHADES[runs.indexOf(bar[2]) % RUN_SHADES.length][bar[7]],
    dataset: (bar) => RUN_SHADES[bar[4] % RUN_SHADES.length][Math.floor(bar[4] / RUN_SHADES.length) % 2],
    rate: (bar) => `hsl(${Math.round((rate(bar) / fastest) * 12) * 10} 60% 50%)`,
  };
  const severalDatasets = Object.keys(CONTENT.datasets).length > 1;
  let by = "lumi";
  const top = MARGIN.top + 4, rowTop = (n) => top + (n + 1) * pitch;
  const paint = (chart) => {
    const paths = new Map();
    if (by === "kind") rows.forEach((row, n) => (courses.get(row.child) ?? []).forEach((course) => paintCourse(chart, paths, course, rowTop(n), thickness)));
    else paintCommits(chart, paths);
    for (const [colour, parts] of paths) chart.body.append(drawn("path", { d: parts.join(""), fill: colour }));
    for (const bar of CONTENT.parent) chart.body.append(drawn("rect", { x: chart.x(bar.start_s), y: top, width: Math.max(chart.x(bar.end_s) - chart.x(bar.start_s), 0.5), height: Math.max(thickness, 8), fill: PARENT_COLOURS[bar.what] }));
    marks.forEach(([time, text]) => chart.mark(time, text));
    names(chart);
  };
  const paintCommits = (chart, paths) => {
    rows.forEach((row, n) => {
      for (const bar of row.bars) {
        const left = chart.x(bar[0]), width = Math.max(chart.x(bar[1]) - left, 0.3);
        if (left > chart.width || left + width < MARGIN.left) continue;
        const colour = colours[by](bar);
        if (!paths.has(colour)) paths.set(colour, []);
        paths.get(colour).push(`M${left.toFixed(1)},${rowTop(n)}h${width.toFixed(1)}v${thickness}h-${width.toFixed(1)}Z`);
      }
    });
  };
  const names = (chart) => {
    const every = Math.ceil(14 / pitch);
    chart.svg.append(drawn("text", { x: MARGIN.left - 6, y: top + 10, "text-anchor": "end" }, "parent"));
    rows.forEach((row, n) => {
      const bad = failed.get(row.child);
      if (bad || (n % every === 0 && (n || every === 1))) chart.svg.append(drawn("text", { x: MARGIN.left - 6, y: rowTop(n) + Math.max(thickness, 8), "text-anchor": "end" }, `${bad ? "✗ " : ""}${row.child}`));
    });
  };
  const tip = (chart, time, y) => {
    const n = Math.floor((y - top) / pitch) - 1, row = rows[n];
    if (n === -1) { const bar = CONTENT.parent.find((each) => each.start_s <= time && time <= each.end_s); return bar ? `parent: ${bar.what}, ${took(bar.end_s - bar.start_s)}` : null; }
    if (!row) return null;
    if (by === "kind") return courseTip(courses.get(row.child) ?? [], row.child, time, (y - rowTop(n)) / thickness);
    const bar = row.bars[lastAtMost(row.bars.length, (i) => row.bars[i][0], time)];
    if (!bar || bar[1] < time) return `child ${row.child}: idle`;
    const dataset = severalDatasets ? `${CONTENT.datasets[bar[4]] ?? ""} ` : "";
    return `child ${row.child}: ${dataset}run ${bar[2]}, lumi ${bar[3]}${bar[6] > 1 ? ` and ${bar[6] - 1} more commits` : ""}\n${count(bar[5])} events in ${took(bar[1] - bar[0])}`;
  };
  const chart = new Chart(stretch, "Activity of the children against time", top + (rows.length + 1) * pitch + MARGIN.bottom + 4, paint, tip);
  const choices = [["lumi", "runs and lumis"], ...(severalDatasets ? [["dataset", "datasets"]] : []), ["rate", "events per second"], ...(courses.size ? [["kind", "what threads did"]] : [])];
  const choice = element("select", { id: "colours", onchange: () => { by = choice.value; showKeys(); chart.draw(); } }, ...choices.map(([value, text]) => element("option", { value }, text)));
  const control = element("label", { for: "colours" }, "Colours: ", choice);
  const legend = element("div");
  const showKeys = () => legend.replaceChildren(keys([...(by === "kind" ? [...KINDS.map((kind) => [KIND_COLOURS[kind], kind]), ["transparent", "white: waiting"]] : []), ...[...new Set(CONTENT.parent.map((bar) => bar.what))].map((what) => [PARENT_COLOURS[what], `parent: ${what}`])]));
  showKeys();
  return { chart, control, legend };
}

function grouped(courses) {
  const by = new Map();
  for (const course of courses) by.set(course.child, [...(by.get(course.child) ?? []), course]);
  return by;
}

// Threads of a process, one above the other where there is room, else the mean of all. In each piece,
// or each pixel if pieces are finer, kinds are stacked: what is left white is waiting.
function paintCourse(chart, paths, course, top, thickness) {
  const apart = thickness / course.threads.length >= 3, lanes = apart ? course.threads : [course.threads];
  const height = thickness / lanes.length - (lanes.length > 1 ? 0.6 : 0);
  lanes.forEach((lane, n) => {
    const threads = apart ? [lane] : lane, n_pieces = Math.max(...threads.map((thread) => thread.kinds[0].length));
    const per = Math.max(1, Math.ceil(1 / Math.max(chart.x(course.piece_s) - chart.x(0), 1e-6)));
    const first = Math.max(0, Math.floor((chart.stretch.from - course.start_s) / course.piece_s / per) * per);
    const beyond = Math.min(n_pieces, Math.ceil((chart.stretch.to - course.start_s) / course.piece_s));
    for (let at = first; at < beyond; at += per) {
      const left = chart.x(course.start_s + at * course.piece_s), width = chart.x(course.start_s + Math.min(at + per, n_pieces) * course.piece_s) - left;
      let y = top + (n + 1) * (thickness / lanes.length);
      KINDS.forEach((kind, number) => {
        const high = (shareIn(threads, number, at, at + per) * height) / 100;
        if (high < 0.05) return;
        y -= high;
        if (!paths.has(KIND_COLOURS[kind])) paths.set(KIND_COLOURS[kind], []);
        paths.get(KIND_COLOURS[kind]).push(`M${left.toFixed(1)},${y.toFixed(1)}h${width.toFixed(2)}v${high.toFixed(1)}h-${width.toFixed(2)}Z`);
      });
    }
  });
}

// Mean share of a kind in pieces [first, beyond) of some threads [%].
function shareIn(threads, kind, first, beyond) {
  let sum = 0;
  for (const thread of threads) for (let at = first; at < beyond; at += 1) sum += thread.kinds[kind][at] ?? 0;
  return Math.min(sum / threads.length / (beyond - first), 100);
}

function courseTip(courses, child, time, depth) {
  const course = courses.find((each) => each.start_s <= time && time < each.start_s + each.piece_s * Math.max(...each.threads.map((thread) => thread.kinds[0].length)));
  if (!course) return `child ${child}: not running`;
  const at = Math.floor((time - course.start_s) / course.piece_s), thread = course.threads[Math.min(Math.max(Math.floor(depth * course.threads.length), 0), course.threads.length - 1)];
  const shares = KINDS.map((kind, number) => [kind, thread.kinds[number][at] ?? 0]), waiting = Math.max(100 - shares.reduce((sum, [, share]) => sum + share, 0), 0);
  return `child ${child}, ${thread.name}, ${took(course.piece_s)} from ${(course.start_s + at * course.piece_s).toFixed(2)} s\n${[...shares, ["waiting", waiting]].map(([kind, share]) => `${kind} ${share} %`).join(", ")}`;
}

CHARTS.activity = () => {
  if (!CONTENT.activity.length) return [];
  const { chart, control, legend } = activityChart(STRETCH, MARKS);
  return [element("p", { class: "note" }, "A bar is a ", word("commit"), "; shades change with the lumi, white is idle."), element("p", { class: "note controls" }, "Drag over a stretch to look closer; both charts show the same time."), zoomControls(STRETCH, control), element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": "Bars of each child" }, chart.node), legend];
};
