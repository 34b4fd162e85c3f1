// The documentation of every endpoint, made from openapi.yaml: who may ask, what goes in and comes out, an
// example for curl, the problems, and a form that sends a request with the token of this tab.
"use strict";

let contract = null;

// What a $ref leads to.
function follow(node) {
  for (; node && node.$ref; node = node.$ref.split("/").slice(1).reduce((at, name) => at[name], contract)) { /* one step each */ }
  return node || {};
}

const code = (text) => el("code", {}, text);
const problemCode = (text) => (/^[a-z-]+$/.test(text) ? el("a", { href: "/problems/" + text }, code(text)) : code(text));

// The few marks of Markdown that the contract uses: paragraphs, lists, tables, code and bold.
function marked(text, codeOf = code) {
  const inline = (line) => line.split(/(`[^`]*`|\*\*[^*]*\*\*)/).map((part) => {
    if (part.startsWith("`")) return codeOf(part.slice(1, -1));
    return part.startsWith("**") ? el("b", {}, part.slice(2, -2)) : part;
  });
  return (text || "").trim().split(/\n{2,}/).map((part) => {
    if (part.startsWith("* ")) return el("ul", {}, part.slice(2).split(/\n\* /).map((item) => el("li", {}, inline(item))));
    if (!part.startsWith("| ")) return el("p", {}, inline(part));
    const [heads, , ...rows] = part.split("\n").map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
    return table(heads, rows.map((cells) => ({ key: undefined, cells: cells.map(inline) })));
  });
}

// SCHEMA in words: its type, choices and bounds.
function typeText(schema) {
  const it = follow(schema);
  const parts = it.oneOf || it.anyOf;
  const of = it.items ? ` of ${typeText(it.items)}` : "";
  const name = [it.type || (it.properties || it.allOf ? "object" : parts ? parts.map(typeText).join(" or ") : "const" in it ? JSON.stringify(it.const) : "any")].flat().join(" or ");
  const bounds = [["minimum", "at least"], ["exclusiveMinimum", "above"], ["maximum", "at most"], ["exclusiveMaximum", "below"],
    ["minLength", "characters at least"], ["maxLength", "characters at most"], ["minItems", "items at least"], ["maxItems", "items at most"]]
    .filter(([key]) => key in it).map(([key, words]) => `${words} ${it[key]}`);
  return [name + of, it.enum && "one of " + it.enum.join(", "), ...bounds, "default" in it && `default ${JSON.stringify(it.default)}`].filter(Boolean).join(", ");
}

const DEPTH_MAX = 6; // of what is shown of a schema: some hold themselves

// The members of SCHEMA, those of its parts too, each folded around its own.
function members(schema, depth = 0) {
  const it = follow(schema);
  if (depth > DEPTH_MAX) return null;
  const parts = [...(it.allOf || []), ...(it.oneOf || []), ...(it.anyOf || [])].map((part) => members(part, depth + 1));
  const own = Object.entries(it.properties || {}).map(([name, member]) => {
    const said = { ...follow(member), ...member };
    const inner = members(member, depth + 1) || (follow(member).items && members(follow(member).items, depth + 1));
    return [el("dt", {}, el("code", {}, name), (it.required || []).includes(name) ? soft(" required") : ""),
      el("dd", {}, soft(typeText(member)), marked(said.description), inner && el("details", {}, el("summary", {}, "Members"), inner))];
  });
  const all = [own.length > 0 && el("dl", {}, own), ...parts].filter(Boolean);
  return all.length > 0 ? el("div", {}, all) : null;
}

function exampleOf(content) {
  const [type, it] = Object.entries(content || {})[0] || [];
  if (!type) return [null, ""];
  const value = it.example ?? (Object.values(it.examples || {})[0] || {}).value ?? (follow(it.schema).examples || [])[0];
  return [type, value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value)];
}

const KEY_NAME = "Idempotency-Key";
const parametersOf = (it) => (it.parameters || []).map(follow);
const takesKey = (it) => parametersOf(it).some((parameter) => parameter.name === KEY_NAME);
const isPublic = (it) => Array.isArray(it.security) && it.security.length === 0;

function curlOf(path, method, it) {
  const [type, body] = exampleOf((it.requestBody || {}).content);
  const quoted = body.replaceAll("'", "'\\''");
  return [`curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}"${location.origin}${path.replace(/\{(\w+)\}/g, (_, name) => "$" + name.toUpperCase())}"`,
    !isPublic(it) && '-H "Authorization: Bearer $TOKEN"', takesKey(it) && '-H "Idempotency-Key: $(date -u +%F)-$(uuidgen)"',
    type && `-H 'Content-Type: ${type}'`, type && (body ? `-d '${quoted}'` : "--data-binary @FILE")].filter(Boolean).join(" \\\n  ");
}

// What the address asks for, as in #changeLimit?id=acc_1: an anchor, and values for the form there.
const [anchorNow, valuesNow] = location.hash.slice(1).split("?");

// The input of PARAMETER: a choice where its values are listed.
function parameterInput(parameter) {
  const { enum: values, type } = follow(parameter.schema);
  const listed = values || (type === "boolean" ? ["true", "false"] : null);
  const value = new URLSearchParams(valuesNow).get(parameter.name);
  return listed ? choice([["", "not sent"], ...listed]) : textInput("text", { value });
}

const etags = new Map(); // of each path that this page has called: the ETag of its last answer

// A form that sends the request. If-Match is filled in from the last answer of its path.
function tryIt(path, method, it) {
  const id = it.operationId;
  const [type, body] = exampleOf((it.requestBody || {}).content);
  const inputs = parametersOf(it).map((parameter) => [parameter, parameterInput(parameter)]);
  const text = type && el("textarea", { rows: 5, spellcheck: "false" }, body && type.includes("json") ? JSON.stringify(JSON.parse(body), null, 2) : body);
  const said = el("p", { role: "status" });
  const shown = el("pre", { tabindex: "0", hidden: true });
  const match = (inputs.find(([parameter]) => parameter.name === "If-Match") || [])[1];
  let filled = ""; // what match was filled in with
  let key = null; // of a call that has no answer yet: sent again, it takes effect once
  const send = el("button", { type: "submit" }, method === "get" ? "Send" : `Send this ${method.toUpperCase()}`);
  const look = match && contract.paths[path].get && el("button", { type: "button", class: "plain" }, "GET it first");
  const hintOf = (parameter) => [parameter.name === KEY_NAME && "Left empty, a fresh one is sent. ", parameter.description || typeText(parameter.schema)];
  const form = el("form", { class: "try", novalidate: true, "aria-label": "Try " + it.summary },
    el("div", { class: "fields" }, inputs.map(([parameter, input]) => field(id, parameter.name, "/" + parameter.name, input, hintOf(parameter))),
      text && field(id, "Body", "/body", text, type)), el("div", { role: "alert", class: "bad", tabindex: "-1" }), el("div", { class: "row" }, send, look), said, shown);
  const valuesIn = (where) => inputs.filter(([parameter, input]) => parameter.in === where && input.value).map(([{ name }, input]) => [name, input.value]);
  const pathNow = () => valuesIn("path").reduce((to, [name, value]) => to.replace(`{${name}}`, encodeURIComponent(value)), path);
  const fillMatch = () => {
    if (match && match.value === filled) match.value = filled = etags.get(pathNow()) || "";
  };

  async function call(verb, more) {
    const [to, query, token] = [pathNow(), new URLSearchParams(valuesIn("query")), sessionStorage.getItem(KEY)];
    clearErrors(form);
    const errors = inputs.filter(([{ required, name }, input]) => required && name !== KEY_NAME && !input.value).map(([{ name }]) => ({ pointer: "/" + name, detail: "is required" }));
    if (errors.length > 0) return showErrors(form, { message: "Not sent:", errors });
    if (verb === "delete" && !confirm(`Send DELETE ${to}?`)) return null;
    const reply = await reach(to + (query.size > 0 ? "?" + query : ""), { method: verb.toUpperCase(), cache: "no-store", ...more,
      headers: { Accept: "application/json, */*;q=0.5", ...(token && { Authorization: "Bearer " + token }), ...more.headers } });
    const answer = await reply.text().catch(noAnswer);
    const etag = reply.headers.get("ETag");
    if (etag) etags.set(to, etag);
    fillMatch();
    shown.textContent = answer.slice(0, 20000);
    try { shown.textContent = JSON.stringify(JSON.parse(answer), null, 2).slice(0, 20000); } catch { /* shown as it is */ }
    shown.hidden = answer === "";
    said.className = reply.ok ? "good" : "bad";
    said.textContent = `${reply.status} ${reply.statusText}${etag ? `, ETag ${etag}` : ""}`;
    return reply;
  }

  async function sendIt() {
    if (takesKey(it)) key ??= freshKey();
    try {
      const reply = await call(method, { body: text ? text.value : undefined,
        headers: { ...(type && { "Content-Type": type }), ...(key && { [KEY_NAME]: key }), ...Object.fromEntries(valuesIn("header")) } });
      if (reply && isFinal(reply.status)) key = null;
    } catch (error) {
      shown.hidden = true;
      said.className = "bad";
      said.textContent = `No answer came. ${error.message}${takesKey(it) ? " Sent again as it is, it takes effect once." : ""}`;
    }
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const event of ["input", "focusin"]) form.addEventListener(event, fillMatch);
  whenPressed(send, sendIt);
  if (look) whenPressed(look, () => call("get", {}).catch(sayTrouble));
  return form;
}

function operationBody(path, method, it) {
  const all = parametersOf(it);
  const answers = Object.entries(it.responses).map(([status, answer]) => [status, follow(answer)]);
  const [fine, wrong] = [answers.filter(([status]) => status < "400"), answers.filter(([status]) => status >= "400")];
  const request = Object.entries((it.requestBody || {}).content || {});
  return [marked(it.description),
    el("p", { class: "soft" }, "For ", isPublic(it) ? "everybody, without a token" : (it["x-roles"] || []).join(", ") || "every role", "."),
    el("h4", {}, "Try it"), tryIt(path, method, it),
    all.length > 0 && [el("h4", {}, "Parameters"), el("dl", {}, all.map((parameter) => [
      el("dt", {}, el("code", {}, parameter.name), soft(` in the ${parameter.in}${parameter.required ? ", required" : ""}`)),
      el("dd", {}, soft(typeText(parameter.schema)), marked(parameter.description))]))],
    request.map(([type, content]) => [el("h4", {}, "Body: ", el("code", {}, type)), members(content.schema) || marked(follow(content.schema).description)]),
    el("h4", {}, "Example"), el("pre", { tabindex: "0", class: "curl" }, curlOf(path, method, it)),
    el("h4", {}, "Answers"), fine.map(([status, answer]) => el("details", {}, el("summary", {}, status, " ", answer.description),
      Object.entries(answer.content || {}).map(([type, content]) => [el("p", {}, el("code", {}, type)), members(content.schema)]))),
    el("details", {}, el("summary", {}, "Problems"),
      (it["x-problems"] || []).length > 0 && el("p", {}, it["x-problems"].flatMap((slug) => [el("a", { href: "/problems/" + slug }, slug), " "])),
      el("dl", {}, wrong.map(([status, answer]) => [el("dt", {}, status), el("dd", {}, marked(answer.description, problemCode))])))];
}

// Fills BOX; an operation is drawn when it is opened.
async function docsPage(box) {
  const reply = await reach("/openapi.yaml");
  if (!reply.ok) throw Object.assign(new Error(reply.statusText), { status: reply.status });
  contract = readYaml(await reply.text().catch(noAnswer));
  const operations = Object.entries(contract.paths).flatMap(([path, all]) => Object.entries(all).map(([method, it]) => ({ path, method, it })));
  const anchor = (tag) => tag.toLowerCase().replaceAll(" ", "-");
  box.replaceChildren(el("p", {}, contract.info.summary, " This page is made from ", el("a", { href: "/openapi.yaml" }, "openapi.yaml"), "."),
    el("details", { class: "card" }, el("summary", {}, "What holds for every call"), marked(contract.info.description)),
    el("nav", { "aria-label": "Groups", class: "groups" }, contract.tags.map((tag) => el("a", { href: "#" + anchor(tag.name) }, tag.name))),
    ...contract.tags.map((tag) => el("section", {}, el("h2", { id: anchor(tag.name) }, tag.name), marked(tag.description),
      operations.filter(({ it }) => it.tags[0] === tag.name).map(({ path, method, it }) => el("details", { class: "card operation", id: it.operationId },
        el("summary", {}, el("span", { class: "pill" }, method.toUpperCase()), " ", el("code", {}, path), " ", soft(it.summary)))))));
  const open = (details) => {
    if (!details.open || details.children.length > 1) return;
    const { path, method, it } = operations.find((one) => one.it.operationId === details.id);
    details.append(el("h3", {}, it.summary), ...[operationBody(path, method, it)].flat(Infinity).filter(Boolean));
  };
  box.addEventListener("toggle", (event) => event.target.matches(".operation") && open(event.target), true);
  const asked = document.getElementById(anchorNow);
  if (asked && asked.matches(".operation")) asked.open = true;
  if (asked) asked.scrollIntoView();
}
