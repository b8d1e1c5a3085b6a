"use strict";
// The report, section by section: what went wrong first, then where time and memory went.

const REPORT = CONTENT.report, EVENTS = REPORT.events, JOB = REPORT.job;
const OUTCOMES = { done: "done and verified", failed: "failed", unfinished: "unfinished" };

const ON_NODES = REPORT.nodes.length > 0;

function shape_of(job) {
  const each = job.children / job.n_nodes;
  return `${job.n_nodes > 1 ? `${count(job.n_nodes)} nodes × ` : ""}${each === 1 ? "1 child" : `${count(each)} children`} × ${plural(job.threads_per_child, "thread")}`;
}

function head() {
  const made = new Date(CONTENT.start_s * 1000).toISOString().replace("T", " ").slice(0, 19);
  document.getElementById("head").append(
    element("h1", {}, `forkrun · ${JOB.name}`),
    element("span", { class: `outcome ${JOB.outcome}` }, OUTCOMES[JOB.outcome] ?? JOB.outcome),
    element("p", {}, [`began ${made} UTC`, JOB.host?.name, JOB.host && `${JOB.host.n_cpus} × ${JOB.host.cpu}`].filter(Boolean).join(" · ")),
    ...(JOB.problem ? [element("p", { class: "problem" }, [JOB.problem, ...JOB.help].join("\n"))] : []));
}

function overview() {
  const tile = (term, value, small) => element("div", { class: "tile" }, word(term, term[0].toUpperCase() + term.slice(1)), element("b", {}, value), element("small", {}, small));
  const memory = REPORT.memory, digests = { true: "digests agree", false: "DIGESTS DIFFER" }[EVENTS.digests_agree] ?? "some are missing";
  section("overview", "Overview", REPORT.cost ? element("p", { class: "cost" }, `Cost: ${REPORT.cost}.`) : null, cheaper(), element("div", { class: "tiles" },
    tile("events read", count(EVENTS.n_events_read), `of ${count(EVENTS.n_events_planned)} planned, ${digests}`),
    tile("rate", `${count(REPORT.totals.rate_events_per_s)} /s`, `${count(REPORT.totals.event_loop_rate_events_per_s)} /s in the event loops, ${took(REPORT.phases.wall_s)} in all`),
    tile("utilization", percent(REPORT.balance.utilization), `of ${shape_of(JOB)}`),
    tile("CPU efficiency", percent(REPORT.totals.cpu_efficiency), `${took(REPORT.totals.cpu_s)} on CPUs`),
    memory ? tile("shared", size(memory.peak.shared_bytes), `of ${memory.is_at_least ? "at least " : ""}${size(memory.peak.pss_bytes)} at the peak; sharing saves ${size(memory.saving_bytes)}`) : null));
}

// What would save most: at most three.
function cheaper() {
  const line = (each) => element("li", {}, each.text, " ", element("a", { class: "figure", href: `#${each.section}` }, each.saving || each.figure));
  return CONTENT.cheaper.length ? element("div", {}, element("h3", {}, "What would make it cheaper"), element("ol", { class: "lines" }, ...CONTENT.cheaper.map(line))) : null;
}

function remarks() {
  const lines = (title, texts) => (texts.length ? [element("h3", {}, title), element("ul", { class: "lines" }, ...texts.map((text) => element("li", {}, text)))] : []);
  const notFinite = Object.entries(EVENTS.not_finite).map(([name, n]) => `histogram ${name}: ${count(n)} of the values summed are infinite or NaN, and so are its bins`);
  const advice = REPORT.advice.slice(CONTENT.cheaper.length).map((each) => element("span", {}, `${each.text} `, element("a", { class: "figure", href: `#${each.section}` }, each.figure)));
  const begun = (line) => `${took(line.time_s - CONTENT.start_s)}: ${line.text}`;
  section("remarks", "Remarks",
    ...lines("Events left out", EVENTS.left_out.map((each) => `${each.event} (entry ${each.entry} of ${each.file}): ${each.cause}`)),
    ...lines("Warnings", [...notFinite, ...REPORT.warnings]),
    ...lines("Recovery", REPORT.recovery.map(begun)),
    ...lines("Records that could not be read", REPORT.damaged),
    ...lines("More advice", advice),
    ...lines("Of the input", REPORT.notes));
}

function charts() {
  const stretch = new Stretch(CONTENT.end_s), last = CONTENT.parent.find((bar) => bar.what === "merge");
  const marks = [...CONTENT.sessions_s.slice(ON_NODES ? Infinity : 1).map((time) => [time, "resumed"]), ...(last ? [[last.start_s, "merge"]] : [])];
  const note = () => element("p", { class: "note controls" }, "Drag over a stretch to look closer; both charts show the same time.");
  if (CONTENT.memory) {
    const layers = memoryLayers(CONTENT.memory), chart = memoryChart(stretch, CONTENT.memory, layers, marks);
    const named = layers.length > 10 ? [...layers.slice(0, 2), { colour: layers[2].colour, text: `${layers.length - 2} children, private` }] : layers;
    section("memory", "Memory", element("p", { class: "note" }, "The height is memory that the job really takes, the sum of ", word("PSS"), ": what processes have in ", word("shared", "common"), ", and the ", word("private"), " part of each. Dashed: ", word("if nothing were shared"), "."), zoomControls(stretch), chart.node, keys(named.map((each) => [each.colour, each.text])), memoryTable());
  }
  if (CONTENT.activity.length) {
    const { chart, control, legend } = activityChart(stretch, marks), balance = REPORT.balance;
    section("activity", "Activity", element("p", { class: "note" }, word("utilization", "Utilization"), ` ${percent(balance.utilization)}. ${whyLate()} A bar is a `, word("commit"), "; shades change with the lumi, white is idle."), note(), zoomControls(stretch, control), element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": "Bars of each child" }, chart.node), legend, spentTable());
  }
  requestAnimationFrame(() => stretch.draw());
}

// Which child ended last, and what was different about it.
function whyLate() {
  const late = REPORT.balance.late;
  return late ? `Child ${late.child} ended last, ${took(late.after_s)} after the first${late.reasons.length ? `: ${late.reasons.join("; ")}` : ""}.` : "";
}

// What all threads of all children did with the time in which their children worked.
function spentTable() {
  const spent = REPORT.spent;
  if (!spent?.thread_s) return null;
  const known = ["reading", "unpacking", "processing", "committing"].map((kind) => [kind, spent[`${kind}_s`]]);
  const waiting = Math.max(spent.thread_s - known.reduce((sum, [, time]) => sum + time, 0), 0), rows = [...known, ["waiting", waiting], ...(spent.ahead_s ? [["reading ahead", spent.ahead_s]] : [])];
  const share = (row) => (row[0] === "reading ahead" ? "beside it" : barred(row[1] / spent.thread_s));
  return table("What the children's threads did", [{ term: "what", text: true, cell: (row) => word(row[0]) }, numbers("time", (row) => row[1], took), { term: "share", text: true, value: (row) => row[1], cell: share }], rows, { filter: false });
}

const barred = (share) => element("span", {}, element("span", { class: "bar", style: `width:${8 * share}rem` }), percent(share));

function memoryTable() {
  if (!REPORT.memory) return null; // no sample of all processes at one time
  const at = [["at the peak", REPORT.memory.peak], ["at the end", REPORT.memory.end]].filter(([, value]) => value);
  return table("Sum over processes", [words("when", (row) => row[0]), numbers("processes", (row) => row[1].n_processes), numbers("PSS", (row) => row[1].pss_bytes, size), numbers("private", (row) => row[1].private_bytes, size), numbers("shared", (row) => row[1].shared_bytes, size), numbers("if nothing were shared", (row) => row[1].rss_bytes, size)], at);
}

function phases() {
  const phases = REPORT.phases, rows = [
    ["start-up", phases.startup_s, ""], ["start-up", phases.index_s, "index and plan"], ["start-up", phases.modules_s, "modules and conditions"], ["start-up", phases.fork_s, "fork"], ["start-up", phases.first_event_s, "until all children have an event"],
    ["all busy", phases.processing_s, ""], ["shut-down", phases.shutdown_s, ""], ["shut-down", phases.last_children_s, "waiting for the last child"], ["shut-down", phases.merge_s, "merge"],
  ].filter((row) => row[1] !== null);
  if (!rows.length) return;
  const added = REPORT.sessions.length > 1 ? element("p", { class: "note" }, `Times of ${plural(REPORT.sessions.length, "session")}, added up: ${took(phases.active_s)}. The whole job took `, word("wall time", took(phases.wall_s)), ".") : null;
  section("phases", "Phases", added, table("Where the time went", [{ term: "phase", text: true, cell: (row) => (row[2] ? `  ${row[2]}` : word(row[0])) }, numbers("time", (row) => row[1], took), { term: "of the job", text: true, value: (row) => row[1], cell: (row) => (phases.active_s ? barred(row[1] / phases.active_s) : DASH) }], rows, { filter: false }));
}

function children() {
  const columns = [
    numbers("child", (row) => row.child), words("status", (row) => row.status, { bad: (row) => row.failed }), numbers("units", (row) => row.n_units, count, { detail: true }), numbers("events", (row) => row.n_events),
    numbers("rate", (row) => row.rate_events_per_s, (rate) => (rate === null ? DASH : `${count(rate)} /s`)), numbers("first event", (row) => row.first_event_s, took, { detail: true }), numbers("end", (row) => row.end_s, took, { detail: true }), numbers("processing time", (row) => row.processing_s, took),
    numbers("CPU efficiency", (row) => row.cpu_efficiency, percent, { detail: true }), numbers("read calls", (row) => row.read_calls, count, { detail: true }), numbers("read", (row) => row.read_bytes, size, { detail: true }), numbers("PSS", (row) => row.peak_pss_bytes, size, { shown: "peak PSS" }), numbers("private", (row) => row.peak_uss_bytes, size, { shown: "peak private" }),
  ];
  if (REPORT.children.length) section("children", "Children", table("Children", columns, REPORT.children));
}

// Of a job on many nodes: what the children of each have done.
function nodes() {
  if (!ON_NODES) return;
  section("nodes", "Nodes", table("Nodes", [
    numbers("node", (row) => row.node), numbers("units", (row) => row.n_units), numbers("events", (row) => row.n_events), numbers("rate", (row) => (row.event_loop_s ? row.n_events / row.event_loop_s : null), (rate) => (rate === null ? DASH : `${count(rate)} /s`), { shown: "in its event loops" }),
    numbers("first event", (row) => row.first_event_s, took, { detail: true }), numbers("end", (row) => row.end_s, took, { detail: true }), numbers("active time", (row) => row.phases?.active_s ?? null, took), numbers("start-up", (row) => row.phases?.startup_s ?? null, took, { detail: true }), numbers("processing time", (row) => row.processing_s, took, { detail: true }), numbers("CPU", (row) => row.cpu_s, took, { detail: true }), numbers("read", (row) => row.read_bytes, size, { detail: true }), numbers("children that failed", (row) => row.n_deaths, count, { bad: (row) => row.n_deaths > 0 }),
    words("machine", (row) => row.host ?? DASH, { detail: true }), numbers("sessions", (row) => row.sessions.length, count, { detail: true }), numbers("gaps", (row) => row.gaps_s, took, { detail: true }), numbers("PSS", (row) => row.memory?.peak.pss_bytes ?? null, size, { shown: "peak PSS" }), numbers("shared", (row) => row.memory?.peak.shared_bytes ?? null, size, { detail: true }),
  ], REPORT.nodes));
}

function modules() {
  const timing = CONTENT.timing;
  if (!timing) return;
  const total = timing.modules.reduce((sum, each) => sum + each.total_s, 0), events = timing.n_events || 1;
  const costs = [
    numbers("calls", (row) => row.count), numbers("time", (row) => row.total_s, took), { term: "share", value: (row) => row.total_s, cell: (row) => percent(total ? row.total_s / total : 0) },
    numbers("per event", (row) => row.total_s / events, took), numbers("mean", (row) => row.mean_s, took, { detail: true }), numbers("p95", (row) => row.p95_s, took, { detail: true }), numbers("longest", (row) => row.max_s, took, { detail: true }), numbers("CPU", (row) => row.cpu_s, took, { detail: true }),
  ];
  const waits = [numbers("waits for inputs", (row) => row.wait_inputs_s, took, { detail: true }), numbers("waits for its turn", (row) => row.wait_queue_s, took, { detail: true })];
  const called = timing.modules.filter((each) => each.count).sort((a, b) => b.total_s - a.total_s), isColumn = (each) => each.kind === "source column";
  const own = called.filter((each) => !isColumn(each)), stalls = timing.stalls.filter((each) => each.total_s > 0);
  section("modules", "Modules",
    own.length ? table("Modules", [words("module", (row) => row.label), words("kind", (row) => `${row.kind}, ${row.concurrency}`, { detail: true }), ...costs, ...waits], own) : null,
    stalls.length ? table("Waiting for inputs", [words("module", (row) => row.module), words("waited for", (row) => row.waited_for), numbers("times", (row) => row.count), numbers("time", (row) => row.total_s, took)], stalls) : null,
    element("p", { class: "note" }, [...timing.remarks, "Times are summed over children and threads"].join(". ") + "."));
}

// What reading took, column by column, and what they have in common.
function input() {
  const costs = REPORT.input;
  if (!costs) return;
  const rows = [...(costs.common ? [costs.common] : []), ...costs.columns].sort((a, b) => b.total_s - a.total_s), total = rows.reduce((sum, row) => sum + row.total_s, 0);
  if (!rows.length) return;
  section("input", "Input", table("Columns that were read", [
    { ...words("column", (row) => row.column || "(common to columns)"), cell: (row) => (row.column ? row.column : word("common to columns")) }, numbers("blocks", (row) => row.n_blocks, count, { detail: true }), numbers("column reads", (row) => row.read_calls, count, { shown: "reads", detail: true }), numbers("bytes read", (row) => row.read_bytes, size), numbers("unpacked", (row) => row.unpacked_bytes, size, { detail: true }),
    { detail: true, term: "ratio", value: (row) => row.unpacked_bytes / row.packed_bytes || 0, cell: (row) => (row.packed_bytes ? (row.unpacked_bytes / row.packed_bytes).toFixed(2) : DASH) },
    numbers("reading", (row) => row.read_s, took, { detail: true }), numbers("unzipping", (row) => row.unpack_s, took, { detail: true }), numbers("decoding", (row) => row.decode_s, took, { detail: true }), numbers("time", (row) => row.total_s, took), { term: "share", value: (row) => row.total_s, cell: (row) => percent(total ? row.total_s / total : 0) },
  ], rows), costs.not_read.length ? element("p", { class: "note" }, word("read by nobody", "Read by nobody"), `, though modules say that they read them: ${costs.not_read.join(", ")}.`) : null);
}

// Sessions of a job that was resumed, or of all nodes.
function sessions() {
  if (REPORT.sessions.length < 2) return;
  const gap = CONTENT.gaps_s.reduce((sum, [from, to]) => sum + to - from, 0), many = ON_NODES;
  section("sessions", "Sessions", element("p", { class: "note" }, `${plural(REPORT.sessions.length, "session")}`, gap ? `; for ${took(gap)} none ran, which counts in no time and no rate: ` : ".", gap ? word("gaps") : null), table("Sessions", [
    ...(many ? [{ term: "node", value: (row) => row.node, cell: (row) => row.node ?? "collecting" }] : []), numbers("begin", (row) => row.start_s - CONTENT.start_s, took), numbers("length", (row) => row.end_s - row.start_s, took), numbers("units", (row) => row.n_units), numbers("events", (row) => row.n_events), words("session ended", (row) => row.outcome ?? "killed, or runs", { long: true, bad: (row) => row.outcome !== "ok", shown: "ended" }),
  ], REPORT.sessions));
}

function outputs() {
  const agrees = (row) => ({ true: "agrees", false: "DIFFERS" }[row.agree] ?? "not merged");
  const columns = [
    words("output", (row) => row.label), numbers("events", (row) => row.n_events_written), { term: "of those read", value: (row) => row.n_events_written, cell: (row) => percent(row.n_events_read ? row.n_events_written / row.n_events_read : null) },
    numbers("size", (row) => row.n_bytes_merged, size), { term: "per event", value: (row) => row.n_bytes_merged, cell: (row) => (row.n_events_merged ? size(row.n_bytes_merged / row.n_events_merged) : DASH) }, words("compression", (row) => row.compression),
    { ...words("agrees", agrees, { bad: (row) => row.agree === false }), shown: "merged file" }, words("written anew by ROOT", (row) => row.written_anew.join(", "), { long: true }),
  ];
  if (EVENTS.outputs.length) section("outputs", "Outputs", table("Outputs", columns.slice(0, EVENTS.outputs.some((each) => each.written_anew.length) ? 8 : 7), EVENTS.outputs));
}

function cutflows() {
  const efficiency = (value) => (value ? `${percent(value.value)} (${percent(value.low)} to ${percent(value.high)})` : DASH);
  const columns = (weighted) => [
    words("after", (row) => row.after || "(all)"), numbers("events", (row) => row.n_events), { term: "of the last", value: (row) => row.step?.value, cell: (row) => efficiency(row.step) }, { term: "of all", value: (row) => row.total?.value, cell: (row) => efficiency(row.total) },
    ...(weighted ? [numbers("weights", (row) => row.sum_weights, (sum) => (sum === null ? DASH : String(Number(sum.toPrecision(6)))))] : []),
  ];
  const one = (title, cuts) => table(title, columns(cuts.some((cut) => cut.sum_weights !== null)), cuts, { filter: false });
  section("cutflow", "Cutflow", ...REPORT.cutflow.flatMap((flow) => [
    flow.cuts.length ? one(`Path ${flow.path}`, flow.cuts) : element("p", { class: "note" }, `Path ${flow.path}: ${flow.no_sum}`),
    ...Object.entries(flow.datasets).map(([name, cuts]) => element("details", { open: flow.cuts.length ? null : true }, element("summary", {}, `Path ${flow.path}, dataset ${name}`), one(`Path ${flow.path}, dataset ${name}`, cuts))),
  ]));
}

function datasets() {
  const labels = [...new Set(REPORT.datasets.flatMap((each) => Object.keys(each.n_events_written)))];
  const columns = [
    words("dataset", (row) => row.name), words("kind", (row) => (row.is_data ? "data" : "simulation")), numbers("files", (row) => row.n_files), numbers("events planned", (row) => row.n_events_planned), numbers("events read", (row) => row.n_events_read),
    numbers("lumis", (row) => row.n_lumis_committed), numbers("sum of weights", (row) => row.sum_of_weights, (sum) => (sum === null ? DASH : String(Number(sum.toPrecision(6))))), ...labels.map((label) => numbers(`written to ${label}`, (row) => row.n_events_written[label] ?? null)),
  ];
  if (REPORT.datasets.length) section("datasets", "Datasets", table("Datasets", columns, REPORT.datasets));
}

function facts() {
  const host = JOB.host ?? {}, entries = [
    ["job", `${shape_of(JOB)}, executor ${JOB.executor}, distribution ${JOB.distribution}`],
    ["input", `${plural(EVENTS.n_files, "file")}, ${plural(EVENTS.n_lumis_planned, "lumi")}, ${plural(EVENTS.n_units_planned, "unit")} of work${JOB.order === "input" ? "" : `; order ${JOB.order}, for ${JOB.order_reason}`}`],
    ["command", (host.command ?? []).join(" ")], ["directory", host.directory], ["machine", host.cpu && `${host.name}: ${host.n_cpus} × ${host.cpu}, ${size(host.memory_bytes)}, ${host.kernel}`],
    ["versions", Object.entries(host.versions ?? {}).map(([name, version]) => `${name} ${version}`).join(", ")], ["forkrun", CONTENT.build], ["configuration", JOB.config_digest && `SHA-256 ${JOB.config_digest}`],
  ];
  section("facts", "Job", element("dl", { class: "facts" }, ...entries.filter(([, text]) => text).flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, text)])));
}

function glossary() {
  section("words", "Words", element("dl", {}, ...Object.entries(CONTENT.words).flatMap(([term, text]) => [element("dt", { id: anchor(term) }, term), element("dd", {}, text)])));
}

for (const part of [head, overview, remarks, charts, phases, sessions, nodes, children, modules, input, outputs, cutflows, datasets, pictures, facts, glossary]) part();
document.documentElement.dataset.ready = "yes";
