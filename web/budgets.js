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
  if (taken >= 1) return ["bad", `The whole budget${of && ", by δ,"} is spent or held.`];
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

// The id of a teacher without a name that the caller may read, as a title.
const namelessTeacher = (id) => (id.startsWith("tch_") ? `Teacher …${id.slice(-4)}` : "");

// Where the certificate is of what ACCOUNT pays for; undefined: nowhere.
const certificateOf = (account) => ((account.resource || "").startsWith("tch_") ? `/v1/teachers/${account.resource}/certificate` : undefined);

// What ACCOUNT is called: by what it pays for, and whose it is; "": neither has a name.
function accountName({ client_name: client, resource_name: name, resource }) {
  const what = name || namelessTeacher(resource || "");
  return client && what ? `${client} at ${what}` : what;
}

function budgetCard(account, buys) {
  const limit = (account.limit || {}).epsilon || 0;
  const [spent, held, left] = ["spent", "reserved", "remaining"].map((name) => (account[name] || {}).epsilon || 0);
  const share = limit > 0 ? spent / limit : 1;
  const [kind, said] = warning(account) || ["", ""];
  const what = account.resource || account.account;
  const named = accountName(account) || (account.project || {}).name; // whose it is, where it has no name of its own
  const byDelta = shareOf({ ...account, reserved: {} }, "delta");
  return el("article", { class: "card", "data-key": account.account },
    el("div", { class: "line" },
      el("a", { href: "/v1/ledger/accounts/" + account.account, class: named ? "" : "mono" }, named || what),
      soft([account.kind, account.unit].filter(Boolean).join(" · "))),
    named && el("div", { class: "soft mono" }, what),
    bar("meter", `${percent(share)} spent${held > 0 ? `, ${percent(held / limit)} held` : ""}`, [share, kind && "end-" + kind], [limit > 0 ? held / limit : 0, "held"]),
    el("div", { class: "line" },
      el("span", {}, "ε ", el("b", {}, short(spent)), " of " + short(limit)),
      soft(held > 0 ? short(held) + " held, " : "", short(left) + " left")),
    said && el("div", { class: kind }, said),
    buysText(buys) && el("div", {}, buysText(buys)),
    el("div", { class: "soft" }, account.accounting === "basic" && byDelta >= 0.5 ? `δ ${short(account.spent.delta)} of ${short(account.limit.delta)} spent` : `δ ${short((account.limit || {}).delta)}`,
      account.client && !account.client_name ? " · " + account.client : "",
      account.closed_at ? " · closed" : ""),
    account.kind === "teacher" && account.accounting === "renyi" &&
      el("div", { class: "soft" }, "Not the sum of its clients' ε: each account converts the same answers at its own order."),
    certificateOf(account) && el("div", {}, el("a", { href: certificateOf(account) }, "Certificate")),
    (me || {}).role === "student" && account.kind === "client" && !account.closed_at &&
      el("a", { href: "/v1/budget-requests#" + account.resource }, "Ask for more"));
}

const BUYS_SHOWN = 24; // of how many accounts of a list it is asked what they buy

// Each agent's budget is spent in one report: a card for all of an aggregation's.
const ofAgent = (it) => it.client && (it.resource || "").startsWith("agg_");

function budgets(accounts, buys = []) {
  if (accounts.length === 0) return noBudgets();
  const agents = new Map();
  accounts.filter(ofAgent).forEach((it) => agents.set(it.resource, [...(agents.get(it.resource) || []), it]));
  return el("div", { class: "grid" }, accounts.filter((it) => !ofAgent(it)).map((it, i) => budgetCard(it, buys[i])),
    [...agents].map(([what, all]) => el("article", { class: "card", "data-key": what },
      el("div", { class: "mono" }, what),
      el("div", {}, el("b", {}, String(all.length)), all.length === 1 ? " agent's budget, " : " agents' budgets, ",
        el("b", {}, String(all.filter((it) => (it.remaining || {}).epsilon === 0).length)), " spent in a report"))));
}

// The next step of a role whose list of budgets is empty.
function noBudgets() {
  if ((me || {}).role === "steward") return nextStep("No budgets yet. Each dataset has one, and each teacher.", howToStart());
  return nextStep("No budgets yet.", (me || {}).role === "student" && "You get one with your first question to a teacher.");
}

// How a steward makes a dataset, which this page does not.
const howToStart = () => el("span", {}, "First make a dataset, over the API: ", el("a", { href: "/docs#createDataset" }, "create it"), ", ",
  el("a", { href: "/docs#uploadTrajectories" }, "upload trajectories"), " and ", el("a", { href: "/docs#sealDataset" }, "seal it"),
  ". The quick start of the documentation has the three commands.");

async function budgetList(accounts) {
  const shown = accounts.slice(0, shownOf("budgets", BUYS_SHOWN));
  return [budgets(shown, await Promise.all(shown.filter((it) => !ofAgent(it)).slice(0, BUYS_SHOWN).map(buysOf))),
    showMore("budgets", shown.length, accounts.length, "The first ", countOf(accounts))];
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

// DRAWN with its scale: what its top and bottom are, and where it begins and ends.
function scaled(drawn, high, low, from, to) {
  return el("div", { class: "scaled" }, el("div", { class: "soft ends" }, el("span", {}, high), el("span", {}, low)), drawn,
    el("span"), el("div", { class: "line soft" }, el("span", {}, from), el("span", {}, to)));
}

const histories = new Map(); // of each account that was looked at: its entries

// The entries of the account at PATH, which has COUNT of them, and whether all are read: some pages at a time, none of them twice.
async function history(path, count) {
  const kept = histories.get(path) || { full: [], at: "", count: -1, items: [] };
  histories.set(path, kept);
  for (let pages = 0; kept.count !== count && pages < 20; pages++) {
    const page = await ask(`${path}/entries?page_size=500${kept.at}`);
    kept.items = [...kept.full, ...page.items];
    if (page.next_page_token) [kept.full, kept.at] = [kept.items, "&page_token=" + page.next_page_token];
    else kept.count = count;
  }
  return [kept.items, kept.count === count];
}

const POINTS_MAX = 600;

// What was left after each of ENTRIES, in steps over the time: without what is held, and all that is not spent.
function burnDown(entries, unit) {
  const sum = { limit: 0, spent: 0, held: 0 };
  const all = entries.map((entry) => {
    for (const name of Object.keys(sum)) sum[name] += entry.units[name];
    return { time: Date.parse(entry.time), left: sum.limit - sum.spent, free: sum.limit - sum.spent - sum.held };
  });
  if (all.length < 3) return null; // two make no curve
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
    scaled(drawing("burned down: " + text, [["held", steps("left")], ["", steps("free")]]), short(top / 1e9), "0", clock(points[0].time), clock(points.at(-1).time)),
    el("p", { class: "soft" }, "The whole height is the most that it ever had. Dashed: with what jobs hold and may give back."));
}

// What an entry adds to what is spent or held, of ACCOUNT. NAME: spent or held.
function change(units, name, account) {
  const signed = (x) => (x > 0 ? "+" : x < 0 ? "−" : "") + short(Math.abs(x));
  const [own, delta] = [units[name] / 1e9, units[name + "_delta"] / 1e18];
  return own === 0 && delta === 0 ? "–" : [`${account.accounting === "basic" ? "ε" : "divergence"} ${signed(own)}`, delta !== 0 && `, δ ${signed(delta)}`].filter(Boolean).join("");
}

// Changes of limits that wait for another steward's word.
const openChanges = async () => (["steward", "auditor"].includes(me.role) ? askAll("/v1/limit-changes?status=open") : []);

function waitingChanges(changes) {
  return changes.map((it) => el("article", { class: "card apart", "data-key": it.id },
    el("h2", {}, "A change of a limit waits for a second steward"),
    el("p", {}, `${it.proposed_by_name || it.proposed_by} proposes ${amount(it.limit)} for `, el("a", { href: "/v1/ledger/accounts/" + it.account }, "this budget"),
      `, as the whole limit, since ${clock(it.created_at)}.`),
    el("p", {}, `“${it.reason}”`),
    me.role === "steward" && el("p", {}, it.proposed_by !== me.id && [el("a", { href: `/docs#approveLimitChange?id=${it.id}` }, "Approve"), " · "],
      el("a", { href: `/docs#declineLimitChange?id=${it.id}` }, it.proposed_by === me.id ? "Take it back" : "Decline"))));
}

async function account(path) {
  const it = await ask(path);
  const [entries, whole] = await history(path, it.entries);
  if (!whole) return el("div", {}, el("h1", {}, "Budget"), budgetCard(it, await buysOf(it)),
    el("p", { class: "note" }, `Entries are being read, ${entries.length} of at most ${it.entries} so far.`));
  const shown = entries.slice(-shownOf("entries")).reverse();
  const rest = Object.entries({ accounting: it.accounting, order: it.order, guaranteed: it.guaranteed, approvals: it.approvals,
    continues: it.continues, opened: it.created_at }).filter(([, value]) => value !== undefined && value !== null);
  return el("div", {}, el("h1", {}, `Budget of ${accountName(it) || it.resource}`), el("div", { class: "apart" }, budgetCard(it, await buysOf(it))),
    waitingChanges((await openChanges()).filter((one) => one.account === it.account)),
    me.role === "steward" && !it.closed_at && el("p", {}, el("a", { href: `/docs#changeLimit?id=${it.account}` }, "Change its limit")),
    el("h2", {}, "Burn-down"),
    burnDown(entries, it.accounting === "basic" ? "in ε" : "in Rényi divergence, which is what is counted") ||
      el("p", { class: "note" }, entries.length < 2 ? "Nothing has been spent or held yet." : "One entry so far: a curve begins with the next."),
    it.accounting !== "basic" && el("p", { class: "note" }, "This account adds up Rényi divergences. The first of them costs most of the ε that it is converted to, and later ones add little: so the share of ε above and the share here differ. It is spent when both are."),
    el("h2", {}, "Terms"), el("div", { class: "card" }, tree(Object.fromEntries(rest))),
    el("h2", {}, "Entries"),
    table(["#No.", "Time", "Kind", "Spent", "Held", "Who", "For"], shown.map((e) => ({ key: String(e.sequence), cells: [
      String(e.sequence), soft(clock(e.time)), e.kind, change(e.units, "spent", it), change(e.units, "held", it),
      e.client_name || (me.role === "student" && e.client && e.client !== me.id ? "the steward" : e.client) || "–", [linkOf(e.resource), e.certificate && el("div", {}, el("a", { href: "/v1/certificates/" + e.certificate }, "Certificate"))]] }))),
    showMore("entries", shown.length, entries.length));
}
