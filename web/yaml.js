// Reads the YAML that openapi.yaml is written in: maps and lists as blocks or in braces, plain, quoted and
// literal texts. No anchors and no tags, which it does not use.
"use strict";

function scalarOf(text) {
  if (text === "" || text === "null" || text === "~") return null;
  if (text === "true" || text === "false") return text === "true";
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : text;
}

// A value in one line: {...}, [...], "..." or a plain text, which ends with the line.
function readFlow(text) {
  let at = 0;
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  const quoted = () => {
    const found = take(/"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'/y);
    if (!found) return null;
    return found[0][0] === '"' ? JSON.parse(found[0]) : found[0].slice(1, -1).replaceAll("''", "'");
  };
  function value(inside) {
    take(/\s*/y);
    if (take(/\{\s*/y)) {
      const made = {};
      while (!take(/\s*\}/y)) {
        const key = quoted() ?? take(/[^:,{}[\]]+/y)[0];
        take(/\s*:/y);
        made[key] = value(true);
        take(/\s*,?\s*/y);
      }
      return made;
    }
    if (take(/\[\s*/y)) {
      const made = [];
      while (!take(/\s*\]/y)) {
        made.push(value(true));
        take(/\s*,?\s*/y);
      }
      return made;
    }
    return quoted() ?? scalarOf((take(inside ? /[^,[\]{}]*/y : /.*/y))[0].trim());
  }
  return value(false);
}

const PAIR = /^("(?:[^"\\]|\\.)*"|[^"{[].*?):(?: +(.*))?$/;

function readYaml(text) {
  const lines = text.split("\n");
  let at = 0;
  const depthOf = (line) => line.length - line.trimStart().length;
  const isItem = (line) => line.trimStart().startsWith("- ");
  const next = () => { // the depth of the next line that says something
    while (at < lines.length && /^\s*(#.*)?$/.test(lines[at])) at++;
    return at < lines.length ? depthOf(lines[at]) : -1;
  };
  function literal(style, depth) {
    const taken = [];
    while (at < lines.length && (lines[at].trim() === "" || depthOf(lines[at]) > depth)) taken.push(lines[at++]);
    while (taken.length > 0 && taken.at(-1).trim() === "") taken.pop();
    const inner = Math.min(...taken.filter((line) => line.trim() !== "").map(depthOf));
    return taken.map((line) => line.slice(inner)).join(style[0] === ">" ? " " : "\n") + (style[1] === "-" ? "" : "\n");
  }
  function value(rest, depth) {
    if (/^[|>]-?$/.test(rest)) return literal(rest, depth);
    if (rest) {
      let whole = rest;
      while (next() > depth) whole += " " + lines[at++].trim();
      return readFlow(whole);
    }
    const deeper = next();
    return deeper > depth || (deeper === depth && isItem(lines[at])) ? block(deeper) : null;
  }
  function block(depth) {
    const made = isItem(lines[at]) ? [] : {};
    while (next() === depth && isItem(lines[at]) === Array.isArray(made)) {
      const line = lines[at].slice(depth);
      if (!Array.isArray(made)) {
        const [, key, rest] = PAIR.exec(line);
        at++;
        made[key.startsWith('"') ? JSON.parse(key) : key] = value(rest, depth);
      } else if (PAIR.test(line.slice(2))) {
        lines[at] = " ".repeat(depth + 2) + line.slice(2); // an item that is a map: as if it stood there alone
        made.push(block(depth + 2));
      } else {
        at++;
        made.push(value(line.slice(2), depth));
      }
    }
    return made;
  }
  return block(next());
}
