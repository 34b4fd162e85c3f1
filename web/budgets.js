// Budgets: what is spent, held and left, the warning before the end, what the rest buys, and how it burned down.
"use strict";

const shareOf = (account, what) => {
  const [limit, taken] = [(account.limit || {})[what] || 0, ((account.spent || {})[what] || 0) + ((account.reserved || {})[what] || 0)];
  return limit > 0 ? taken / limit : what === "epsilon" ? 1 : 0;
};

// How near its end ACCOUNT is: a class of colour and a sentence, or nothing. By basic accounting delta is used up too.
function warning(account) {
  const byDelta = account.accounting === "basic" && shareOf(account, "delta") > shareOf(account, "epsilon");
  const taken = shareOf(account, byDelta ? "delta" : "epsilon");
  const spent = shareOf({ ...account, reserved: {} }, byDelta ? "delta" : "epsilon");
  const of = byDelta ? " of δ" : "";
  if (spent >= 1) return ["bad", `Spent${of}: nothing more is answered.`];
  if (taken >= 1) return ["bad", `All of it${of && ", by δ,"} is spent or held.`];
  if (taken > 0.9) return ["bad", `Less than a tenth${of} is left.`];
  return taken > 0.75 ? ["warn", `Less than a quarter${of} is left.`] : null;
}

const bought = new Map(); // of each account: its balances, and what they buy

// What the rest of ACCOUNT buys, asked again only when its balances have changed.
async function buysOf(account) {
  const now = JSON.stringify([account.limit, account.spent, account.reserved]);
  const [then, buys] = bought.get(account.account) || [];
  if (then === now) return buys;
  const single = account.buys ? account : await ask("/v1/ledger/accounts/" + account.account);
  bought.set(account.account, [now, single.buys]);
  return single.buys;
}

function buysText(buys) {
  const things = [["jobs_like_the_last", "job like the last", "jobs like the last"], ["answers", "answer", "answers"],
    ["labels", "consensus label", "consensus labels"]].filter(([name]) => typeof (buys || {})[name] === "number")
    .map(([name, one, more]) => `${buys[name].toLocaleString("en")} ${buys[name] === 1 ? one : more}`);
  return things.length > 0 && `What is left buys ${things.join(", or ")}.`;
}

function budgetCard(account, buys) {
  const limit = (account.limit || {}).epsilon || 0;
  const [spent, held, left] = ["spent", "reserved", "remaining"].map((name) => (account[name] || {}).epsilon || 0);
  const share = limit > 0 ? spent / limit : 1;
  const [kind, said] = warning(account) || ["", ""];
  const named = account.resource_name || (account.project || {}).name; // whose it is, where it has no name of its own
  const what = account.resource || account.account;
  return el("article", { class: "card", "data-key": account.account },
    el("div", { class: "line" },
      el("a", { href: "/v1/ledger/accounts/" + account.account, class: named ? "" : "mono" }, named || what),
      soft([account.kind, account.unit].filter(Boolean).join(" · "))),
    named && el("div", { class: "soft mono" }, what),
    bar(`${percent(share)} spent${held > 0 ? `, ${percent(held / limit)} held` : ""}`, [share, kind && "end-" + kind], [limit > 0 ? held / limit : 0, "held"]),
    el("div", { class: "line" },
      el("span", {}, "ε ", el("b", {}, short(spent)), " of " + short(limit)),
      soft(held > 0 ? short(held) + " held, " : "", short(left) + " left")),
    said && el("div", { class: kind }, said),
    buysText(buys) && el("div", {}, buysText(buys)),
    el("div", { class: "soft" }, `δ ${short((account.limit || {}).delta)}`,
      account.client ? " · " + (account.client_name || account.client) : "",
      account.closed_at ? " · closed" : ""),
    (me || {}).role === "student" && account.kind === "client" && !account.closed_at &&
      el("a", { href: "/v1/budget-requests#" + account.resource }, "Ask for more"));
}

const BUYS_SHOWN = 24; // of how many accounts of a list it is asked what they buy

// Each agent's budget is spent in one report: a card for all of an aggregation's.
const ofAgent = (it) => it.client && (it.resource || "").startsWith("agg_");

function budgets(accounts, buys = []) {
  if (accounts.length === 0) return el("p", { class: "note" }, "No budgets yet.");
  const agents = new Map();
  accounts.filter(ofAgent).forEach((it) => agents.set(it.resource, [...(agents.get(it.resource) || []), it]));
  return el("div", { class: "grid" }, accounts.filter((it) => !ofAgent(it)).map((it, i) => budgetCard(it, buys[i])),
    [...agents].map(([what, all]) => el("article", { class: "card", "data-key": what },
      el("div", { class: "mono" }, what),
      el("div", {}, el("b", {}, String(all.length)), all.length === 1 ? " agent's budget, " : " agents' budgets, ",
        el("b", {}, String(all.filter((it) => (it.remaining || {}).epsilon === 0).length)), " spent in a report"))));
}

async function budgetList(accounts) {
  return budgets(accounts, await Promise.all(accounts.filter((it) => !ofAgent(it)).slice(0, BUYS_SHOWN).map(buysOf)));
}

const histories = new Map(); // of each account that was looked at: its entries

// The entries of the account at PATH, which has COUNT of them: pages that were full are not read again.
async function history(path, count) {
  const kept = histories.get(path) || { full: [], at: "", count: -1, items: [] };
  histories.set(path, kept);
  for (let pages = 0; kept.count !== count && pages < 20; pages++) {
    const page = await ask(`${path}/entries?page_size=500${kept.at}`);
    kept.items = [...kept.full, ...page.items];
    if (page.next_page_token) [kept.full, kept.at] = [kept.items, "&page_token=" + page.next_page_token];
    else kept.count = count;
  }
  return kept.items;
}

const POINTS_MAX = 600;

// What was left after each of ENTRIES, in steps over the time: without what is held, and all that is not spent.
function burnDown(entries, unit) {
  const sum = { limit: 0, spent: 0, held: 0 };
  const all = entries.map((entry) => {
    for (const name of Object.keys(sum)) sum[name] += entry.units[name];
    return { time: Date.parse(entry.time), left: sum.limit - sum.spent, free: sum.limit - sum.spent - sum.held };
  });
  if (all.length < 2) return null;
  const points = all.filter((_, i) => i % Math.ceil(all.length / POINTS_MAX) === 0 || i === all.length - 1);
  const top = Math.max(...points.map((p) => p.left), 1);
  const [from, to] = [points[0].time, Math.max(points.at(-1).time, points[0].time + 1)];
  const place = (time, y) => `${(600 * (time - from) / (to - from)).toFixed(1)},${(100 - 100 * y / top).toFixed(1)}`;
  const steps = (name) => points.flatMap((p, i) => [...(i > 0 ? [place(p.time, points[i - 1][name])] : []), place(p.time, p[name])]).join(" ");
  const last = all.at(-1);
  const held = last.left > last.free ? `, ${percent((last.left - last.free) / top)} held` : "";
  const text = `${percent(last.left / top)} not spent${held}`;
  return el("div", { class: "card" },
    el("div", { class: "line" }, el("b", {}, `Left, ${unit}`), soft(text)),
    drawing("burned down: " + text, [["held", steps("left")], ["", steps("free")]]),
    el("div", { class: "line soft" }, el("span", {}, clock(points[0].time)), el("span", {}, clock(points.at(-1).time))),
    el("p", { class: "soft" }, "The whole height is the most that it ever had. Dashed: with what jobs hold and may give back."));
}

const ENTRIES_SHOWN = 100;

async function account(path) {
  const it = await ask(path);
  const entries = await history(path, it.entries);
  const rest = Object.entries({ accounting: it.accounting, order: it.order, guaranteed: it.guaranteed, approvals: it.approvals,
    continues: it.continues, opened: it.created_at }).filter(([, value]) => value !== undefined && value !== null);
  return el("div", {}, el("h1", {}, "Budget"), budgetCard(it, await buysOf(it)),
    el("h2", {}, "Burn-down"),
    burnDown(entries, it.accounting === "basic" ? "in ε" : "in Rényi divergence, which is what is counted") || el("p", { class: "note" }, "Nothing has been spent or held yet."),
    el("h2", {}, "Terms"), el("div", { class: "card" }, tree(Object.fromEntries(rest))),
    el("h2", {}, "Entries"),
    table(["#No.", "Time", "Kind", "#Units", "#Held", "Who", "For"], entries.slice(-ENTRIES_SHOWN).reverse().map((e) => ({ key: String(e.sequence), cells: [
      String(e.sequence), soft(clock(e.time)), e.kind, String(e.units.spent), String(e.units.held),
      e.client_name || e.client || "–", el("span", { class: "mono" }, e.resource || "–")] }))),
    entries.length > ENTRIES_SHOWN && el("p", { class: "soft" }, `The newest ${ENTRIES_SHOWN} of ${entries.length}.`));
}
