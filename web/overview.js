// What each role sees first: its jobs and budgets, and of admins and auditors who may call and what was changed.
"use strict";

// Of an admin: who may use the service.
function people(clients) {
  return table(["Name", "Role", "State", "Since", "Id"], clients.map((it) => ({ key: it.id, cells: [
    it.name, it.role, it.revoked_at ? el("span", { class: "bad" }, "revoked ", clock(it.revoked_at)) : "active",
    soft(clock(it.created_at)), el("span", { class: "mono" }, it.id)] })));
}

// Of admins and auditors: who changed what today.
const CHANGES_KEPT = 1000;
let changesSeen = [];

async function newChanges() {
  for (let pages = 0, rows = null; pages < 5 && (!rows || rows.length === 500); pages++) {
    const last = changesSeen.at(-1);
    rows = (await ask("/v1/audit?page_size=500&" + (last ? `after=${last.number}` : `since=${new Date(new Date().setHours(0, 0, 0, 0)).toISOString().slice(0, 19)}Z`))).items;
    changesSeen = [...changesSeen, ...rows].slice(-CHANGES_KEPT);
  }
  return changesSeen;
}

function trail(rows, names) {
  if (rows.length === 0) return el("p", { class: "note" }, "Nothing was changed yet.");
  const shown = rows.slice(-shownOf("changes")).reverse();
  const named = (id) => (names.get(id) ? [names.get(id), el("div", { class: "soft" }, linkOf(id))] : linkOf(id));
  return [table(["Time", "Who", "Action", "What", "Outcome"], shown.map((it) => ({ key: String(it.number), cells: [
    soft(clock(it.time)), it.client ? names.get(it.client) || it.client : it.actor, el("span", { class: "mono wrap" }, it.action),
    el("div", {}, named(it.resource || it.subject)),
    el("span", { class: it.outcome === "ok" ? "" : "warn" }, it.outcome, it.count > 1 && ` ×${it.count}`)] }))),
  showMore("changes", shown.length, rows.length),
  rows.length === CHANGES_KEPT && soft(`Of today this page keeps the newest ${CHANGES_KEPT.toLocaleString("en")}. GET /v1/audit has all.`)];
}

// What CLIENTS and the things that ACCOUNTS pay for are called, by their ids.
function namesOf(clients, accounts) {
  return new Map([...(clients || []).map((it) => [it.id, it.name]),
    ...(accounts || []).flatMap((it) => [[it.client, it.client_name], [it.resource, it.resource_name], [(it.project || {}).id, (it.project || {}).name],
      [it.account, it.client_name || it.resource_name ? `budget of ${it.client_name || it.resource_name}` : null]])].filter(([id, name]) => id && name));
}

const OVERVIEW_JOBS = 10;

async function overview() {
  const may = (...roles) => roles.includes(me.role);
  const list = async (path, ...roles) => (may(...roles) ? askAll(path) : null);
  const { jobs, counts } = may("steward") ? await newestJobs(OVERVIEW_JOBS) : { jobs: null };
  const accounts = await list("/v1/ledger/accounts", "steward", "student", "agent", "auditor");
  const requests = await list("/v1/budget-requests?status=open", "steward");
  const clients = await list("/v1/clients", "admin");
  const changes = may("admin", "auditor") ? await newChanges() : null;
  const silent = (accounts || []).filter((a) => (a.remaining || {}).epsilon === 0).length;
  const tile = (n, text, to) => el(to ? "a" : "div", { class: "card tile", href: to }, el("b", {}, typeof n === "string" ? n : n.toLocaleString("en")), el("span", {}, text));
  return el("div", {}, el("h1", {}, "Overview"), el("div", { class: "tiles" },
      jobs && [tile(counts.running, counts.running === 1 ? "job runs" : "jobs run"), tile(counts.queued, counts.queued === 1 ? "job waits" : "jobs wait"),
        tile(counts.succeeded, counts.succeeded === 1 ? "job is done" : "jobs are done")],
      accounts && [tile(countOf(accounts), "budgets", "#budgets"), tile(countOf(accounts, silent), "used up: no more answers")],
      requests && tile(countOf(requests), "requests for more", "/v1/budget-requests"), clients && tile(countOf(clients), "clients")),
    jobs && [el("div", { class: "line" }, el("h2", {}, "Jobs"), el("a", { href: "/v1/jobs#new" }, "New job")), jobTable(jobs),
      totalOf(counts) > jobs.length && el("p", {}, el("a", { href: "/v1/jobs" }, `All ${totalOf(counts).toLocaleString("en")} jobs`))],
    accounts && [el("h2", { id: "budgets", tabindex: "-1" }, "Budgets"), await budgetList(accounts)],
    clients && [el("h2", {}, "Clients"), people(clients)],
    changes && [el("h2", {}, "Changes today"), trail(changes, namesOf(clients, accounts))],
    !jobs && !accounts && !changes && el("p", { class: "note" }, "This token's role has nothing to see here. ", el("a", { href: "/docs" }, "What it may ask")));
}
