"use strict";
// The head of a page and its sections, each part by its kind.

const { head, sections } = CONTENT;

const PARTS = {
  note: (text) => [element("p", { class: "note" }, text)],
  table: (each) => [table(each)],
  tiles: ({ facts }) => [element("div", { class: "tiles" }, ...facts.map(tile))],
  names: ({ facts }) => [element("dl", { class: "facts" }, ...facts.flatMap(({ name, text, note }) => [element("dt", {}, word(name)), element("dd", {}, note ? `${text} · ${note}` : text)]))],
  lines: ({ facts, title }) => [element("h3", {}, title), element("ul", { class: "lines" }, ...facts.map(line))],
  steps: ({ facts, title }) => [element("h3", {}, title), element("ol", { class: "lines" }, ...facts.map(line))],
  words: (terms) => [element("details", {}, element("summary", {}, "What words mean"), element("dl", {}, ...Object.entries(terms).flatMap(([term, text]) => [element("dt", { id: anchor(term) }, term), element("dd", {}, text)])))],
};

const tile = ({ name, text, note }) => element("div", { class: "tile" }, word(name, name[0].toUpperCase() + name.slice(1)), element("b", {}, text), element("small", {}, note));
const line = ({ text, note, section }) => element("li", {}, text, ...(note ? [" ", element("a", { class: "figure", href: `#${section}` }, note)] : []));

function section({ name, title, parts }) {
  const shown = parts.flatMap((part) => Object.entries(part).flatMap(([kind, value]) => PARTS[kind](value))), body = [...(CHARTS[name]?.() ?? []), ...shown];
  if (!body.length) return;
  for (const part of body) part.querySelectorAll("caption").forEach((caption) => { if (caption.textContent === title) caption.classList.add("unseen"); });
  document.getElementById("contents").append(element("a", { href: `#${name}` }, title));
  document.getElementById("main").append(element("section", { id: name, "aria-labelledby": `${name}-title` }, element("h2", { id: `${name}-title` }, title), ...body));
}

document.getElementById("head").append(
  element("h1", {}, head.title), ...(head.outcome ? [element("span", { class: `outcome ${head.outcome}` }, head.words)] : []),
  element("p", {}, head.lines), ...(head.problem ? [element("p", { class: "problem" }, head.problem)] : []));
sections.forEach(section);
section({ name: "words", title: "Words", parts: [{ words: CONTENT.words }] });
FITS.forEach((fit) => fit());
document.documentElement.dataset.ready = "yes";
