// What each role sees first: its jobs and budgets, and of admins and auditors who may call and what was changed.
"use strict";

// Of an admin: who may use the service.
function people(clients) {
  return table(["Name", "Role", "State", "Since", "Id"], clients.map((it) => ({ key: it.id, cells: [
    it.name, it.role, it.revoked_at ? el("span", { class: "bad" }, "revoked ", clock(it.revoked_at)) : "active",
    soft(clock(it.created_at)), el("span", { class: "mono" }, it.id)] })));
}

// Of admins and auditors: who changed what today.
const CHANGES_SHOWN = 100;
let changesSeen = [];

async function newChanges() {
  for (let pages = 0, rows = null; pages < 5 && (!rows || rows.length === 500); pages++) {
    const last = changesSeen.at(-1);
    rows = await askList("/v1/audit?page_size=500&" + (last ? `after=${last.number}` : `since=${new Date().toISOString().slice(0, 10)}`));
    changesSeen = [...changesSeen, ...rows].slice(-CHANGES_SHOWN);
  }
  return changesSeen;
}

function trail(rows, names) {
  if (rows.length === 0) return el("p", { class: "note" }, "Nothing yet.");
  return table(["Time", "Who", "Action", "What", "Outcome"], [...rows].reverse().map((it) => ({ key: String(it.number), cells: [
    soft(clock(it.time)), names.get(it.client) || it.client || it.actor, el("span", { class: "mono wrap" }, it.action),
    el("span", { class: "mono" }, it.resource || it.subject || "–"),
    el("span", { class: it.outcome === "ok" ? "" : "warn" }, it.outcome, it.count > 1 && ` ×${it.count}`)] })));
}

async function overview() {
  const may = (...roles) => roles.includes(me.role);
  const list = async (path, ...roles) => (may(...roles) ? askList(path) : null);
  const jobs = await list("/v1/jobs?page_size=20", "steward");
  const accounts = await list("/v1/ledger/accounts?page_size=100", "steward", "student", "agent", "auditor");
  const requests = await list("/v1/budget-requests?status=open", "steward");
  const clients = await list("/v1/clients?page_size=200", "admin");
  const changes = may("admin", "auditor") ? await newChanges() : null;
  const count = (state) => (jobs || []).filter((job) => job.state === state).length;
  const silent = (accounts || []).filter((a) => (a.remaining || {}).epsilon === 0).length;
  const tile = (n, text) => el("div", { class: "card tile" }, el("b", {}, String(n)), el("span", {}, text));
  return el("div", {}, el("h1", {}, "Overview"), el("div", { class: "tiles" },
      jobs && [tile(count("running"), "running"), tile(count("queued"), "waiting"), tile(count("succeeded"), "done of the last " + jobs.length)],
      accounts && [tile(accounts.length, "budgets"), tile(silent, "spent and silent")],
      requests && tile(requests.length, "requests for more"), clients && tile(clients.length, "clients")),
    jobs && [el("div", { class: "line" }, el("h2", {}, "Jobs"), el("a", { href: "/v1/jobs#new" }, "New job")), jobTable(jobs)],
    accounts && [el("h2", {}, "Budgets"), await budgetList(accounts)],
    clients && [el("h2", {}, "Clients"), people(clients)],
    changes && [el("h2", {}, "Changes today"), trail(changes, new Map((clients || []).map((it) => [it.id, it.name])))],
    !jobs && !accounts && !changes && el("p", { class: "note" }, "This token's role has nothing to see here: see the endpoints."));
}
