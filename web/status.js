// The status page: asks the API with the token of this tab and draws what it may see. Text is only
// ever set as text, never as markup. The files of this folder are one script, and this one is its end.
"use strict";

const KEY = "tacet-token";
const EVERY_MS = 2500;
const $ = (id) => document.getElementById(id);
let timer = 0;
let me = null; // who the token is of

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key === "width") node.style.width = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.dataset.key : undefined);

// Makes the children of OLD those of FRESH. One with a data-key stays itself wherever it goes.
function patchChildren(old, fresh) {
  const is = [...fresh.childNodes];
  const wanted = new Set(is.map(keyOf));
  [...old.childNodes].forEach((node) => keyOf(node) && !wanted.has(keyOf(node)) && node.remove());
  const kept = new Map([...old.childNodes].filter(keyOf).map((node) => [keyOf(node), node]));
  is.forEach((node, i) => {
    const [at, mine] = [old.childNodes[i], kept.get(keyOf(node))];
    if (mine && mine !== at) old.insertBefore(mine, at || null);
    if (mine) patch(mine, node);
    else if (!at || keyOf(at) || keyOf(node)) old.insertBefore(node, at || null);
    else patch(at, node);
  });
  while (old.childNodes.length > is.length) old.lastChild.remove();
}

// Makes OLD what FRESH is and keeps every node that is the same in both: so the focus, a selection and the
// scroll of the page stay where they are, and a screen reader hears only what changed. What a node with
// data-own holds is its own: a form that is being filled in.
function patch(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || old.namespaceURI !== fresh.namespaceURI) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.dataset.own && old.dataset.own === fresh.dataset.own) return;
  for (const { name } of [...old.attributes]) {
    // What a person has opened stays open.
    if (!fresh.hasAttribute(name) && !(old.nodeName === "DETAILS" && name === "open")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  patchChildren(old, fresh);
}

async function ask(path, method = "GET", body = undefined, key = undefined) {
  const reply = await fetch(path, {
    method,
    headers: { Accept: "application/json", Authorization: "Bearer " + sessionStorage.getItem(KEY),
      ...(body && { "Content-Type": "application/json" }), ...(key && { "Idempotency-Key": key }) },
    body: body && JSON.stringify(body),
    cache: "no-store",
  });
  const text = await reply.text();
  let answer = {};
  try { answer = JSON.parse(text); } catch { /* not JSON: nothing is known of it */ }
  if (reply.ok && answer.signature) answer.verified = await isGenuine(text, answer.signature);
  if (!reply.ok) {
    throw Object.assign(new Error(answer.detail || reply.statusText), { status: reply.status, errors: answer.errors || [] });
  }
  return answer;
}

const bytesOf = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

// Checks a certificate here, by the public key of the service: Ed25519 over its text without the signature.
// null: this browser cannot.
async function isGenuine(text, signature) {
  try {
    const { keys } = await (await fetch("/.well-known/jwks.json")).json();
    const found = keys.find((k) => k.kid === signature.key_id);
    if (!found) return false;
    const key = await crypto.subtle.importKey("jwk", { kty: found.kty, crv: found.crv, x: found.x }, "Ed25519", false, ["verify"]);
    const signed = new TextEncoder().encode(text.trimEnd().replace(/"signature":\{[^{}]*\},?/, ""));
    return await crypto.subtle.verify("Ed25519", key, bytesOf(signature.value), signed);
  } catch {
    return null;
  }
}

// A list that this role may not see counts as absent.
async function askList(path) {
  try {
    return (await ask(path)).items;
  } catch (error) {
    if (error.status === 403) return null;
    throw error;
  }
}

const percent = (x) => Math.max(0, Math.min(100, 100 * x)).toFixed(1) + "%";
function short(x) {
  if (typeof x !== "number") return "–";
  const rounded = Number(x.toPrecision(4));
  return x !== 0 && Math.abs(x) < 1e-3 ? rounded.toExponential() : String(rounded);
}

const clock = (text) => (text ? new Date(text).toLocaleString() : "–");

function span(seconds) {
  if (typeof seconds !== "number") return "";
  if (seconds < 90) return Math.round(seconds) + " s left";
  if (seconds < 5400) return Math.round(seconds / 60) + " min left";
  return (seconds / 3600).toFixed(1) + " h left";
}

function bar(label, ...parts) {
  return el("div", { class: "bar", role: "img", "aria-label": label },
    parts.map(([share, kind]) => el("i", { class: kind, width: percent(share) })));
}

function progress(job) {
  const at = job.progress || {};
  const share = job.state === "succeeded" ? 1 : at.fraction || 0;
  return bar(`${percent(share)} done`, [share, ""]);
}

// A table of ROWS, each {key, cells}; a HEAD that begins with # is of numbers. The roles stay where a phone
// shows each row as a card, whose lines then bear the heads.
function table(heads, rows) {
  const kind = heads.map((head) => (head.startsWith("#") ? "number" : ""));
  const names = heads.map((head) => head.replace("#", ""));
  return el("div", { class: "card scroll" }, el("table", { role: "table" },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" },
      names.map((name, i) => el("th", { role: "columnheader", class: kind[i] }, name)))),
    el("tbody", { role: "rowgroup" }, rows.map(({ key, cells }) => el("tr", { role: "row", "data-key": key },
      cells.map((cell, i) => el("td", { role: "cell", class: kind[i], "data-head": names[i] }, cell)))))));
}

const soft = (...text) => el("span", { class: "soft" }, text);

function jobTable(jobs) {
  if (jobs.length === 0) return el("p", { class: "note" }, "No jobs yet.");
  return table(["Job", "Algorithm", "State", "Progress", "#Return", "Since"], jobs.map((job) => ({ key: job.id, cells: [
    el("a", { href: "/v1/jobs/" + job.id, class: "mono" }, job.id),
    [job.algorithm, " ", soft(job.mechanism || "")],
    [el("span", { class: "pill " + job.state }, job.state), job.error && el("div", { class: "soft reason" }, job.error.detail)],
    [progress(job), soft(job.state === "running" ? span((job.progress || {}).eta_seconds) : "")],
    job.evaluation ? short(job.evaluation.mean_return) : "–",
    soft(clock(job.created_at))] })));
}

// Where this page shows what an id names; undefined: nowhere.
function placeOf(id) {
  const [, kind] = /^(job|acc|crt|ds|pol|tch)_[0-9a-z]+$/.exec(id) || [];
  return { job: `/v1/jobs/${id}`, acc: `/v1/ledger/accounts/${id}`, crt: `/v1/certificates/${id}`,
    ds: `/v1/datasets/${id}/budget`, pol: `/v1/policies/${id}/certificate`, tch: `/v1/teachers/${id}/certificate` }[kind];
}

// Any JSON as nested definition lists: certificates, a single job, a budget.
function tree(value) {
  if (value === null) return document.createTextNode("–");
  if (typeof value === "number") return document.createTextNode(Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6))));
  const place = typeof value === "string" && placeOf(value);
  if (place && place !== location.pathname) return el("a", { href: place, class: "mono" }, value);
  if (typeof value !== "object") {
    return el("span", { class: typeof value === "string" && value.length > 24 && !value.includes(" ") ? "mono" : "" }, String(value));
  }
  if (Array.isArray(value)) {
    if (value.every((v) => v === null || (typeof v !== "object" && !String(v).includes(" ")))) return document.createTextNode(value.join(", "));
    return el("div", {}, value.map((v) => el("div", {}, tree(v))));
  }
  return el("dl", {}, Object.entries(value).map(([k, v]) =>
    [el("dt", {}, k.replaceAll("_", " ")), el("dd", {}, tree(v))]));
}

// An SVG of lines, each [class, points] in a box of 600 x 100, drawn as wide as there is room.
function drawing(label, lines) {
  const node = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const svg = node("svg", { viewBox: "-4 -4 608 108", class: "curve", role: "img", preserveAspectRatio: "none", "aria-label": label });
  svg.append(...lines.map(([kind, points]) => node("polyline", { class: kind, points })));
  return svg;
}

const curves = new Map(); // of each job that was looked at: [step, mean return]

// The mean return of a public training as it was seen since the page was opened.
function curve(job) {
  const { step, mean_return: y } = job.progress || {};
  if (typeof y !== "number") return null;
  const seen = curves.get(job.id) || [];
  curves.set(job.id, seen);
  if (seen.length === 0 || seen.at(-1)[0] < step) seen.push([step, y]);
  if (seen.length < 2) return null;
  const [low, high] = [Math.min(...seen.map((p) => p[1])), Math.max(...seen.map((p) => p[1]))];
  const [from, to] = [seen[0][0], seen.at(-1)[0]];
  const points = seen.map(([x, v]) => `${(600 * (x - from) / (to - from)).toFixed(1)},${(100 - 100 * (v - low) / (high - low || 1)).toFixed(1)}`);
  return el("div", { class: "card" }, el("div", { class: "line" }, el("b", {}, "Mean return"),
    el("span", { class: "soft" }, `${short(low)} to ${short(high)}, now ${short(y)}`)),
    drawing(`mean return from ${short(seen[0][1])} to ${short(y)}`, [["", points.join(" ")]]));
}

function jobPage(job) {
  const { state, created_at, started_at, finished_at, progress: at, error, notes, algorithm, mechanism, ...rest } = job;
  const live = state === "queued" || state === "running";
  const left = state === "running" && span((at || {}).eta_seconds);
  return el("div", {},
    el("h1", {}, algorithm, " ", el("span", { class: "pill " + state, role: "status" }, state)),
    el("p", { class: "soft" }, mechanism === "none" ? "no mechanism" : mechanism, " · asked for ", clock(created_at),
      finished_at && ` · ended ${clock(finished_at)}`),
    el("div", { class: "card" }, progress(job),
      el("div", { class: "line" },
        el("span", {}, state === "queued" && (at || {}).queue_place ? `number ${at.queue_place} in the queue` : "",
          left || ""),
        live && el("button", { type: "button", class: "quiet", "data-cancel": job.id, disabled: job.cancel_requested },
          job.cancel_requested ? "stopping…" : "Cancel this job"))),
    error && el("p", { class: "card bad" }, error.detail),
    (notes || []).map((note) => el("p", { class: "note" }, note)),
    el("div", {}, curve(job)),
    el("h2", {}, "All of it"), el("div", { class: "card" }, tree(rest)));
}

function certificatePage(path, it) {
  const { verified, ...rest } = it;
  const said = { true: ["good", "Genuine: this browser checked the signature with the service's public key."],
    false: ["bad", "The signature does not hold: this certificate was changed, or is not of this service."],
    null: ["warn", "This browser cannot check Ed25519 here. `tacet certificate verify` does."] }[verified];
  return el("div", {}, el("h1", {}, "Certificate"), el("p", { class: "card " + said[0], id: "genuine" }, said[1]),
    el("div", { class: "card" }, tree(rest)));
}

async function view() {
  const path = location.pathname;
  if (path === "/v1/jobs") {
    return el("div", {}, el("h1", {}, "Jobs"), el("details", { class: "card", id: "new", open: location.hash === "#new" }, el("summary", {}, "New job"),
      el("div", { "data-own": "jobForm" })), jobTable((await ask("/v1/jobs?page_size=200")).items));
  }
  if (path === "/v1/ledger/accounts") {
    return el("div", {}, el("h1", {}, "Budgets"), await budgetList((await ask("/v1/ledger/accounts?page_size=500")).items));
  }
  if (path.startsWith("/v1/ledger/accounts/")) return account(path);
  if (path === "/v1/teachers") return teachersPage();
  if (path === "/v1/budget-requests") return requestsPage();
  if (path.startsWith("/v1/")) {
    const it = await ask(path);
    if (path.startsWith("/v1/jobs/")) return jobPage(it);
    if (it.signature) return certificatePage(path, it);
    return el("div", {}, el("h1", { class: "mono" }, path),
      el("div", { class: "card" }, tree(it)));
  }
  return overview();
}

function enter(message) {
  clearTimeout(timer);
  introduce(null);
  changesSeen = [];
  $("view").replaceChildren();
  $("enter").hidden = false;
  $("leave").hidden = true;
  $("refused").hidden = !message;
  $("refused").textContent = message || "";
  $("token").focus();
}

const owners = { jobForm, askForm, decideForm, docsPage };

function show(node) {
  const old = $("view").firstChild;
  if (old) patch(old, node);
  else $("view").append(node);
  for (const own of $("view").querySelectorAll("[data-own]:empty")) owners[own.dataset.own](own);
  if (!old && location.hash === "#new") $("new").querySelector("summary").focus();
}

// Shows who the token is of, and of the pages those that its role may see.
function introduce(client) {
  me = client;
  $("who").textContent = me ? `${me.name}, ${me.role}` : "";
  for (const link of document.querySelectorAll("nav a")) {
    link.hidden = Boolean(link.dataset.roles) && !(me && link.dataset.roles.split(" ").includes(me.role));
    if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
  }
}

// The documentation: drawn once, for everybody.
async function drawDocs() {
  $("enter").hidden = true;
  $("leave").hidden = !sessionStorage.getItem(KEY);
  show(el("div", {}, el("h1", {}, "Endpoints"), el("div", { "data-own": "docsPage" })));
  if (sessionStorage.getItem(KEY)) introduce(await ask("/v1/clients/me").catch(() => null));
}

const isDocs = location.pathname === "/docs";

async function draw() {
  clearTimeout(timer);
  if (isDocs) return drawDocs();
  try {
    if (!me) introduce(await ask("/v1/clients/me"));
    const node = await view();
    $("enter").hidden = true;
    $("leave").hidden = false;
    show(node);
  } catch (error) {
    if (error.status === 401) {
      sessionStorage.clear();
      enter("That token is not known here.");
      return;
    }
    $("leave").hidden = false;
    show(el("div", {}, el("h1", {}, "Not shown"), el("p", { class: "card bad", role: "alert" }, error.message)));
    if (error.status >= 400 && error.status < 500 && error.status !== 429) return; // asking again changes nothing, and is a refusal in the audit trail
  }
  timer = setTimeout(draw, EVERY_MS);
}

async function readiness() {
  try {
    const reply = await fetch("/healthz/ready", { cache: "no-store" });
    const body = await reply.json();
    $("ready").className = "state " + (reply.ok ? "good" : "bad");
    $("ready").textContent = reply.ok ? "ready" : body.detail || "not ready";
    if (body.version) $("version").textContent = "Tacet " + body.version;
  } catch {
    $("ready").className = "state bad";
    $("ready").textContent = "out of reach";
  }
  setTimeout(readiness, 4 * EVERY_MS);
}

$("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, $("token").value.trim());
  $("token").value = "";
  draw();
});
$("leave").addEventListener("click", () => {
  sessionStorage.clear();
  enter("");
});
$("view").addEventListener("click", async (event) => {
  const job = event.target.dataset.cancel;
  if (!job || !confirm("Cancel this job? It may still pay its price.")) return;
  try {
    await ask(`/v1/jobs/${job}:cancel`, "POST");
  } catch (error) {
    alert(error.message);
  }
  draw();
});
addEventListener("pageshow", (event) => event.persisted && location.reload()); // a page that was left is not gone on with
readiness();
if (sessionStorage.getItem(KEY) || isDocs) draw();
else enter("");
