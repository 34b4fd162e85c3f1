// The status page: asks the API with the token of this tab and draws what it may see. Text is only
// ever set as text, never as markup. The files of this folder are one script, and this one is its end.
"use strict";

const KEY = "tacet-token";
const EVERY_MS = 2500;
const $ = (id) => document.getElementById(id);
let timer = 0;
let me = null; // who the token is of
let lastSeen = null; // when the service last answered
let wanted = null; // the link that was followed while it did not

// Says above the page that the service does not answer, or takes that away (WHY null). The page stays as it was.
function sayDown(why) {
  if (!why) {
    lastSeen = new Date();
    for (const node of document.querySelectorAll(".lost")) node.replaceChildren(); // what was said while there was no answer
    if (wanted) location.assign(wanted.href);
    wanted = null;
  }
  const seen = lastSeen ? `; last seen ${lastSeen.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}` : "";
  const then = wanted ? `. ${wanted.textContent.trim()} opens when the service is back.` : "";
  const text = why ? `${why} Trying again${seen}${then}` : "";
  $("down").hidden = !why;
  if ($("down").textContent !== text) $("down").textContent = text;
}

const NO_CONNECTION = "No connection.";

function noAnswer() {
  sayDown(NO_CONNECTION);
  throw Object.assign(new Error("The service is out of reach."), { lost: true });
}

// Says above the page why ERROR hinders it, where asking again may help.
function sayTrouble(error) {
  if (error.lost) sayDown(NO_CONNECTION);
  else sayDown(error.status ? `The service cannot answer now: ${error.message}` : `This page has a fault: ${error.message}.`);
}

// fetch, whose failure is said above the page, and is an error that is "lost".
async function reach(path, options) {
  const reply = await fetch(path, options).catch(noAnswer);
  sayDown(null);
  return reply;
}

async function ask(path, method = "GET", body = undefined, key = undefined) {
  const reply = await reach(path, {
    method,
    headers: { Accept: "application/json", Authorization: "Bearer " + sessionStorage.getItem(KEY),
      ...(body && { "Content-Type": "application/json" }), ...(key && { "Idempotency-Key": key }) },
    body: body && JSON.stringify(body),
    cache: "no-store",
  });
  const text = await reply.text().catch(noAnswer);
  let answer = {};
  try { answer = JSON.parse(text); } catch { /* not JSON: nothing is known of it */ }
  if (reply.ok && answer.signature) answer.verified = await isGenuine(text, answer.signature);
  if (!reply.ok) {
    throw Object.assign(new Error(answer.detail || reply.statusText), { status: reply.status, errors: answer.errors || [] });
  }
  return answer;
}

const PAGES_MAX = 5; // of a list, each of 1000

// All of the list at PATH, or its first pages: then it is "cut". One that this role may not see is empty.
async function askAll(path) {
  const all = [];
  let next = "";
  for (let pages = 0; next !== null && pages < PAGES_MAX; pages++) {
    const page = await ask(`${path}${path.includes("?") ? "&" : "?"}page_size=1000${next}`).catch((error) => {
      if (error.status === 403) return { items: [] };
      throw error;
    });
    all.push(...page.items);
    next = page.next_page_token ? "&page_token=" + page.next_page_token : null;
  }
  return Object.assign(all, { cut: next !== null });
}

// How many LIST has: "5,000+" where it is cut.
const countOf = (list, n = list.length) => n.toLocaleString("en") + (list.cut ? "+" : "");

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

// A bar of ROLE, a meter or a progressbar, of PARTS, each [share, class]; the first is its value.
function bar(role, label, ...parts) {
  return el("div", { class: "bar", role, "aria-label": label, "aria-valuenow": parseFloat(percent(parts[0][0])), "aria-valuetext": label },
    parts.map(([share, kind]) => el("i", { class: kind, width: percent(share) })));
}

function progress(job) {
  const at = job.progress || {};
  const share = job.state === "succeeded" ? 1 : at.fraction || 0;
  const said = `${percent(share)} done`;
  return [bar("progressbar", said, [share, ""]), soft(share > 0 && share < 1 && said + " ")];
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
      cells.map((cell, i) => el("td", { role: "cell", class: kind[i], "data-head": names[i] }, el("div", {}, cell))))))));
}

// What the service warns of, above what it speaks of.
const warned = (warnings) => (warnings || []).map((text) => el("p", { class: "warn" }, text));

const soft = (...text) => el("span", { class: "soft" }, text);

// Where a list is empty: SAID, and what to do next.
const nextStep = (...said) => el("p", { class: "note" }, said.map((part) => [part, " "]));

const listed = new Map(); // of each list by its name: how many of it are shown
const LISTED = 25;
const shownOf = (name, first = LISTED) => listed.get(name) || first;

// Below a list that shows N of TOTAL, SAID in words: a button for more.
function showMore(name, n, total, newest = "The newest ", said = total.toLocaleString("en")) {
  if (total <= n) return null;
  return el("p", { class: "line" }, soft(`${newest}${n.toLocaleString("en")} of ${said}.`),
    el("button", { type: "button", class: "quiet", "data-more": name, "data-n": String(n) }, "Show more"));
}

// Where this page shows what an id names; undefined: nowhere.
function placeOf(id) {
  const [, kind] = /^(job|acc|crt|ds|pol|tch)_[0-9a-z]+$/.exec(id) || [];
  return { job: `/v1/jobs/${id}`, acc: `/v1/ledger/accounts/${id}`, crt: `/v1/certificates/${id}`,
    ds: `/v1/datasets/${id}/budget`, pol: `/v1/policies/${id}/certificate`, tch: `/v1/teachers/${id}/certificate` }[kind];
}

// ID as a link to where it is shown, for who may see that.
function linkOf(id) {
  const hidden = { job: ["steward"], ds: ["steward", "auditor"], tch: ["steward", "student", "auditor"] }[(id || "").split("_")[0]];
  const to = id && placeOf(id);
  return to && (!hidden || hidden.includes((me || {}).role)) ? el("a", { href: to, class: "mono" }, id) : el("span", { class: "mono" }, id || "–");
}

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

// Any JSON as nested definition lists: certificates, a single job, a budget.
function tree(value) {
  if (value === null) return document.createTextNode("–");
  if (typeof value === "number") return document.createTextNode(String(value));
  const place = typeof value === "string" && placeOf(value);
  if (place && place !== location.pathname) return el("a", { href: place, class: "mono" }, value);
  if (typeof value === "string" && TIME.test(value)) return el("time", { datetime: value }, clock(value));
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

const totalOf = (counts) => Object.values(counts).reduce((sum, n) => sum + n, 0);

// The jobs that run, then the newest of the others: at most N, in what ?page_size= allows.
async function newestJobs(n) {
  const [running, newest] = await Promise.all([ask("/v1/jobs?state=running&page_size=" + n), ask("/v1/jobs?counts=true&page_size=" + n)]);
  return { counts: newest.counts, jobs: [...running.items, ...newest.items.filter((job) => job.state !== "running")].slice(0, n) };
}

async function jobsPage() {
  const { counts, jobs } = await newestJobs(Math.min(shownOf("jobs"), 1000));
  return el("div", {}, el("h1", {}, "Jobs"), el("details", { class: "card", id: "new", open: location.hash.startsWith("#new") || (!$("new") && hasDraft("job")) }, el("summary", {}, "New job"),
    el("div", { "data-own": "jobForm" })), jobTable(jobs), showMore("jobs", jobs.length, totalOf(counts), "Those that run, and the newest: "));
}

// A dataset: what is known of it, and its budget.
async function datasetPage(path) {
  const id = path.split("/")[3];
  const it = me.role === "auditor" ? {} : await ask("/v1/datasets/" + id);
  const budget = me.role === "contributor" || it.account === null ? null : await ask(`/v1/datasets/${id}/budget`);
  const { account, name, description, ...rest } = it;
  return el("div", {}, el("h1", {}, name || (budget || {}).resource_name || "Dataset"), el("p", { class: "soft mono" }, id),
    it.uncovered && el("p", { class: "card bad" }, it.uncovered),
    budget && [el("h2", {}, "Budget"), budgetCard(budget, budget.buys)],
    account && el("p", {}, el("a", { href: "/v1/ledger/accounts/" + account }, "Its entries and how it burned down")),
    name && [el("h2", {}, "What it holds"), el("div", { class: "card" }, tree(rest))],
    description && [el("h2", {}, "Description"), el("div", { class: "card" }, tree(description))]);
}

// A button that keeps what is at PATH as the file NAME.
const fileButton = (path, name, text) => el("button", { type: "button", class: "quiet", "data-file": path, "data-name": name }, text);

async function keepFile(path, name) {
  const reply = await reach(path, { headers: { Authorization: "Bearer " + sessionStorage.getItem(KEY) }, cache: "no-store" });
  if (!reply.ok) throw new Error((await reply.json()).detail);
  const href = URL.createObjectURL(await reply.blob());
  el("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60000);
}

// A policy, and its files where the API gives them out.
function policyPage(it) {
  const { id, name, certificate, warnings, ...rest } = it;
  const files = it.released || (it.owned && !it.job) ? ["json", "safetensors", "onnx"] : [];
  return el("div", {}, el("h1", {}, name || "Policy"), el("p", { class: "soft mono" }, id), warned(warnings),
    files.length > 0 && el("p", {}, "Download as ", files.map((form) => [fileButton(`/v1/policies/${id}/weights?format=${form}`, `${id}.${form}`, form), " "])),
    certificate && el("p", {}, el("a", { href: `/v1/policies/${id}/certificate` }, "Its certificate: what is guaranteed, signed")),
    el("div", { class: "card" }, tree(rest)));
}

async function view() {
  const path = location.pathname;
  if (path === "/v1/jobs") return jobsPage();
  if (/^\/v1\/datasets\/[^/]+\/budget$/.test(path)) return datasetPage(path);
  if (path === "/v1/ledger/accounts") {
    return el("div", {}, el("h1", {}, "Budgets"), waitingChanges(await openChanges()), await budgetList(await askAll("/v1/ledger/accounts")));
  }
  if (path.startsWith("/v1/ledger/accounts/")) return account(path);
  if (path === "/v1/teachers") return teachersPage();
  if (path === "/v1/budget-requests") return requestsPage();
  if (path.startsWith("/v1/")) {
    const it = await ask(path);
    if (path.startsWith("/v1/jobs/")) return jobPage(it);
    if (it.signature) return certificatePage(path, it);
    if (/^\/v1\/policies\/[^/]+$/.test(path)) return policyPage(it);
    return el("div", {}, el("h1", { class: "mono" }, path),
      el("div", { class: "card" }, tree(it)));
  }
  return overview();
}

function enter() {
  introduce(null);
  $("enter").hidden = false;
  $("refused").hidden = !sessionStorage.getItem(REFUSED);
  sessionStorage.removeItem(REFUSED);
  $("token").focus();
}

// Puts the focus on the heading: what had it is gone.
function focusHeading() {
  const heading = $("view").querySelector("h1");
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

const REFUSED = "tacet-refused"; // the token was not valid: said on the page that asks for one
const ARRIVED = "tacet-arrived"; // a page that a form leads to begins at its heading

const owners = { jobForm, askForm, decideForm, docsPage };

const filling = new Set();

// Makes what BOX holds, once; where that fails it is tried again.
async function fill(box) {
  if (filling.has(box) || box.firstChild) return;
  filling.add(box);
  try { await owners[box.dataset.own](box); } catch (error) {
    sayTrouble(error);
    setTimeout(() => fill(box), EVERY_MS);
  }
  filling.delete(box);
}

function show(node) {
  const old = $("view").firstChild;
  const focused = document.activeElement !== document.body;
  if (old) patch(old, node);
  else $("view").append(node);
  document.title = `${$("view").querySelector("h1").textContent} – Tacet`;
  for (const own of $("view").querySelectorAll("[data-own]:empty")) fill(own);
  const arrived = !old && sessionStorage.getItem(ARRIVED);
  sessionStorage.removeItem(ARRIVED);
  if (arrived || (focused && document.activeElement === document.body)) focusHeading(); // what had the focus is gone
  if (!old && location.hash.startsWith("#new")) $("new").querySelector("summary").focus();
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
  const began = performance.now();
  clearTimeout(timer);
  if (isDocs) return drawDocs();
  try {
    if (!me) introduce(await ask("/v1/clients/me"));
    const node = await view();
    $("enter").hidden = true;
    $("token").value = "";
    $("leave").hidden = false;
    show(node);
  } catch (error) {
    if (error.status === 401) { // nothing of what was asked with it stays, but what was sent without an answer
      sessionStorage.removeItem(KEY);
      if (!$("enter").hidden) { // it was just entered: it stays in its field, to be mended
        $("refused").hidden = false;
        $("token").focus();
        return;
      }
      sessionStorage.setItem(REFUSED, "1");
      location.reload();
      return;
    }
    $("leave").hidden = false;
    if (!error.status || error.status >= 500 || error.status === 429) { // it passes: the page stays, with what was typed
      sayTrouble(error);
      timer = setTimeout(draw, EVERY_MS);
      return;
    }
    const [list, name] = listOf(location.pathname);
    show(el("div", {}, el("h1", {}, error.status === 404 ? "Not found" : "Not shown"), el("p", { class: "card bad", role: "alert" }, error.message),
      el("p", {}, el("a", { href: list }, `Back to ${name}`))));
    return; // asking again changes nothing, and is a refusal in the audit trail
  }
  timer = setTimeout(draw, Math.max(EVERY_MS, 4 * (performance.now() - began))); // a page that costs much is drawn less often
}

// Of the page at PATH: the list that it belongs to, and its name.
function listOf(path) {
  const link = [...document.querySelectorAll("nav a")].find((a) => !a.hidden && path.startsWith(a.pathname + "/"));
  return link ? [link.pathname, link.textContent] : ["/", "the overview"];
}

async function readiness() {
  try {
    const reply = await reach("/healthz/ready", { cache: "no-store" });
    const body = await reply.json();
    $("ready").className = "state " + (reply.ok ? "good" : "bad");
    $("ready").textContent = reply.ok ? "ready" : body.detail || "not ready";
    if (body.version) $("version").textContent = "Tacet " + body.version;
  } catch {
    $("ready").className = "state bad";
    $("ready").textContent = "out of reach";
  }
  setTimeout(readiness, $("down").hidden ? 4 * EVERY_MS : EVERY_MS);
}

$("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, $("token").value.trim().replace(/^bearer\s+/i, ""));
  sessionStorage.setItem(ARRIVED, "1");
  $("refused").hidden = true;
  draw();
});
$("reveal").addEventListener("click", () => {
  const hidden = $("token").type === "password";
  $("token").type = hidden ? "text" : "password";
  $("reveal").textContent = hidden ? "Hide" : "Show";
});
$("leave").addEventListener("click", () => {
  sessionStorage.clear();
  location.reload();
});
$("view").addEventListener("click", async (event) => {
  const { cancel, ask: question, more, n, file, name } = event.target.dataset;
  if (file) keepFile(file, name).catch((error) => error.lost || alert(error.message));
  if (more) {
    listed.set(more, Number(n) + LISTED);
    draw();
  }
  if (!cancel || !confirm(question)) return;
  try {
    await ask(`/v1/jobs/${cancel}:cancel`, "POST");
  } catch (error) {
    alert(error.message);
  }
  await draw();
  focusHeading();
});
// A link leads on only where the service answers: else the browser would show its own page of errors.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
  if (link.origin !== location.origin || (link.hash && link.pathname === location.pathname && link.search === location.search)) return;
  event.preventDefault();
  try { await reach("/healthz/live", { cache: "no-store", signal: AbortSignal.timeout(2 * EVERY_MS) }); } catch {
    wanted = link;
    return sayDown(NO_CONNECTION);
  }
  location.assign(link.href);
});
addEventListener("pageshow", (event) => event.persisted && location.reload()); // a page that was left is not gone on with
readiness();
if (sessionStorage.getItem(KEY) || isDocs) draw();
else enter();
