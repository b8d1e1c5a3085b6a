"use strict";
// Elements and numbers. Text from the job is only ever set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const DASH = "–";
const count = (n) => (n === null || n === undefined ? DASH : Math.round(n).toLocaleString("en-US"));
const rate = (n) => (n === null || n === undefined ? DASH : `${n >= 100 ? count(n) : Number(n.toPrecision(3))} /s`);
const percent = (share, digits = 1) => (share === null || share === undefined ? DASH : `${(100 * share).toFixed(digits)} %`);

function size(bytes) {
  if (bytes === null || bytes === undefined) return DASH;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes, unit = 0;
  while (Math.abs(value) >= 999.5 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${value.toFixed(unit === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2)} ${units[unit]}`;
}

function took(seconds) {
  if (seconds === null || seconds === undefined) return DASH;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  if (seconds >= 100) return `${seconds.toFixed(0)} s`;
  for (const [unit, factor] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
    if (seconds >= factor) return `${Number((seconds / factor).toPrecision(3))} ${unit}`;
  }
  return seconds === 0 ? "0 s" : `${Number((seconds / 1e-9).toPrecision(3))} ns`;
}

// A term with its explanation one click away.
function word(term, shown = term) {
  const known = Object.hasOwn(CONTENT.words, term);
  return known ? element("a", { class: "word", href: `#${anchor(term)}` }, shown) : document.createTextNode(shown);
}

const anchor = (term) => `word-${term.replace(/[^A-Za-z0-9]+/g, "-")}`;

const CHARTS = {}; // by name: what draws it, as a list of elements
