// The status page: asks the API with the token of this tab and draws what it may see. Text is only
// ever set as text, never as markup.
"use strict";

const KEY = "tacet-token";
const EVERY_MS = 2500;
const $ = (id) => document.getElementById(id);
let timer = 0;

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

async function ask(path) {
  const reply = await fetch(path, {
    headers: { Accept: "application/json", Authorization: "Bearer " + sessionStorage.getItem(KEY) },
    cache: "no-store",
  });
  const body = await reply.json().catch(() => ({}));
  if (!reply.ok) {
    throw Object.assign(new Error(body.detail || reply.statusText), { status: reply.status });
  }
  return body;
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
const short = (x) => (typeof x === "number" ? String(Number(x.toPrecision(4))) : "–");
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

function jobTable(jobs) {
  if (jobs.length === 0) return el("p", { class: "note" }, "No jobs yet.");
  const rows = jobs.map((job) => el("tr", {},
    el("td", {}, el("a", { href: "/v1/jobs/" + job.id, class: "mono" }, job.id)),
    el("td", {}, job.algorithm, " ", el("span", { class: "soft" }, job.mechanism || "")),
    el("td", {}, el("span", { class: "pill " + job.state }, job.state)),
    el("td", {}, progress(job), el("span", { class: "soft" },
      job.state === "running" ? span((job.progress || {}).eta_seconds) : "")),
    el("td", { class: "number" }, job.evaluation ? short(job.evaluation.mean_return) : "–"),
    el("td", { class: "soft" }, clock(job.created_at))));
  const heads = ["Job", "Algorithm", "State", "Progress", "Return", "Since"];
  return el("div", { class: "card scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((h) => el("th", { class: h === "Return" ? "number" : "" }, h)))),
    el("tbody", {}, rows)));
}

function budgetCard(account) {
  const limit = (account.limit || {}).epsilon || 0;
  const spent = (account.spent || {}).epsilon || 0;
  const held = (account.reserved || {}).epsilon || 0;
  const left = (account.remaining || {}).epsilon || 0;
  const share = limit > 0 ? spent / limit : 1;
  const named = account.resource_name || (account.project || {}).name; // whose it is, where it has no name of its own
  const what = account.resource || account.account;
  return el("article", { class: "card" },
    el("div", { class: "line" },
      el("a", { href: "/v1/ledger/accounts/" + account.account, class: named ? "" : "mono" }, named || what),
      el("span", { class: "soft" }, [account.kind, account.unit].filter(Boolean).join(" · "))),
    named && el("div", { class: "soft mono" }, what),
    bar(`${percent(share)} spent`, [share, share >= 1 ? "full" : ""], [limit > 0 ? held / limit : 0, "held"]),
    el("div", { class: "line" },
      el("span", {}, "ε ", el("b", {}, short(spent)), " of " + short(limit)),
      el("span", { class: "soft" }, held > 0 ? short(held) + " held, " : "", short(left) + " left")),
    el("div", { class: "soft" }, `δ ${short((account.limit || {}).delta)}`,
      account.client ? " · " + (account.client_name || account.client) : "",
      account.closed_at ? " · closed" : ""));
}

function budgets(accounts) {
  if (accounts.length === 0) return el("p", { class: "note" }, "No budgets yet.");
  return el("div", { class: "grid" }, accounts.map(budgetCard));
}

// Any JSON as nested definition lists: certificates, a single job, a budget.
function tree(value) {
  if (value === null) return document.createTextNode("–");
  if (typeof value !== "object") {
    return el("span", { class: typeof value === "string" && value.length > 24 ? "mono" : "" }, String(value));
  }
  if (Array.isArray(value)) {
    if (value.every((v) => v === null || typeof v !== "object")) return document.createTextNode(value.join(", "));
    return el("div", {}, value.map(tree));
  }
  return el("dl", {}, Object.entries(value).map(([k, v]) =>
    [el("dt", {}, k.replaceAll("_", " ")), el("dd", {}, tree(v))]));
}

async function overview() {
  const [jobs, accounts] = [await askList("/v1/jobs?page_size=20"), await askList("/v1/ledger/accounts?page_size=100")];
  const count = (state) => (jobs || []).filter((job) => job.state === state).length;
  const silent = (accounts || []).filter((a) => (a.remaining || {}).epsilon === 0).length;
  const tile = (n, text) => el("div", { class: "card tile" }, el("b", {}, String(n)), el("span", {}, text));
  return el("div", {}, el("div", { class: "tiles" },
      jobs && [tile(count("running"), "running"), tile(count("queued"), "waiting"), tile(count("succeeded"), "done of the last " + jobs.length)],
      accounts && [tile(accounts.length, "budgets"), tile(silent, "spent and silent")]),
    jobs && [el("h2", {}, "Jobs"), jobTable(jobs)],
    accounts && [el("h2", {}, "Budgets"), budgets(accounts)],
    !jobs && !accounts && el("p", { class: "note" }, "This token's role sees neither jobs nor budgets."));
}

async function account(path) {
  const it = await ask(path);
  const entries = await ask(path + "/entries?page_size=100");
  const heads = ["#", "Time", "Kind", "Units", "Held", "Who", "For"];
  const rows = entries.items.map((e) => el("tr", {},
    el("td", { class: "number" }, String(e.sequence)), el("td", { class: "soft" }, clock(e.time)), el("td", {}, e.kind),
    el("td", { class: "number" }, String(e.units.spent)), el("td", { class: "number" }, String(e.units.held)),
    el("td", {}, e.client_name || e.client || ""), el("td", { class: "mono" }, e.resource || "")));
  return el("div", {}, el("h1", {}, "Budget"), budgetCard(it), el("h2", {}, "Entries"),
    el("div", { class: "card scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, heads.map((h) => el("th", {}, h)))), el("tbody", {}, rows))),
    entries.next_page_token && el("p", { class: "soft" }, "The first hundred; the rest by page_token."));
}

async function view() {
  const path = location.pathname;
  if (path === "/v1/jobs") {
    return el("div", {}, el("h1", {}, "Jobs"), jobTable((await ask("/v1/jobs?page_size=200")).items));
  }
  if (path === "/v1/ledger/accounts") {
    return el("div", {}, el("h1", {}, "Budgets"), budgets((await ask("/v1/ledger/accounts?page_size=500")).items));
  }
  if (path.startsWith("/v1/ledger/accounts/")) return account(path);
  if (path.startsWith("/v1/")) {
    const it = await ask(path);
    return el("div", {}, el("h1", { class: "mono" }, path), it.progress ? progress(it) : null,
      el("div", { class: "card" }, tree(it)));
  }
  return overview();
}

function enter(message) {
  clearTimeout(timer);
  $("view").replaceChildren();
  $("enter").hidden = false;
  $("leave").hidden = true;
  $("refused").hidden = !message;
  $("refused").textContent = message || "";
  $("token").focus();
}

async function draw() {
  clearTimeout(timer);
  try {
    const node = await view();
    $("enter").hidden = true;
    $("leave").hidden = false;
    $("view").replaceChildren(node);
  } catch (error) {
    if (error.status === 401) {
      sessionStorage.removeItem(KEY);
      enter("That token is not known here.");
      return;
    }
    $("leave").hidden = false;
    $("view").replaceChildren(el("p", { class: "card bad" }, error.message));
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
  sessionStorage.removeItem(KEY);
  enter("");
});
readiness();
if (sessionStorage.getItem(KEY)) draw();
else enter("");
