// Teachers with what was used of them, and requests for more: a student asks, a steward approves or declines.
"use strict";

// What is left of ACCOUNT, and no more than of CAP, which pays for all clients together.
const leftOf = (account, cap) => Math.min(account.remaining.epsilon, cap ? cap.remaining.epsilon : Infinity);

// What is used of a teacher: of its cap over all clients, and of each client's account.
function usage(teacher, accounts, buys) {
  const cap = accounts.find((it) => it.account === teacher.account);
  const clients = accounts.filter((it) => it.kind === "client" && it.resource === teacher.id);
  const own = me.role === "student";
  if (own) return clients.length > 0 ? clients.map((it) => accountBar(it, "Yours", buys.get(it.account))) : soft("You have asked it nothing yet.");
  return [cap && accountBar(cap, "All clients", buys.get(cap.account)),
    clients.length > 0 ? table(["Client", "#Spent ε", "#Of", "#Left", "Warning"], clients.map((it) => {
      const [kind, said] = warning(it) || ["soft", "–"];
      return { key: it.account, cells: [el("a", { href: "/v1/ledger/accounts/" + it.account }, it.client_name || it.client),
        short(it.spent.epsilon), short(it.limit.epsilon), short(leftOf(it, cap)), el("span", { class: kind }, said)] };
    })) : soft(accounts.cut ? `None of the first ${countOf(accounts)} budgets is of a client of it.` : "Nobody has asked it yet.")];
}

function accountBar(account, whose, buys) {
  const [kind, said] = warning(account) || ["", ""];
  const limit = account.limit.epsilon;
  return el("div", {}, el("div", { class: "line" }, el("a", { href: "/v1/ledger/accounts/" + account.account }, whose),
    soft(`ε ${short(account.spent.epsilon)} of ${short(limit)}, ${account.kind === "client" ? "at most " : ""}${short(account.remaining.epsilon)} left`)),
  bar("meter", `${percent(account.spent.epsilon / limit)} spent`, [account.spent.epsilon / limit, kind && "end-" + kind]),
  said && el("div", { class: kind }, said), buysText(buys) && el("div", {}, buysText(buys)));
}

const noTeachers = () => (me.role === "steward"
  ? nextStep("No teachers yet. A teacher answers students from a policy. Make one over the API: ", el("a", { href: "/docs#createTeacher" }, "create a teacher"), "from a policy that a job has trained.")
  : nextStep("No teacher is open to you yet. A steward makes teachers."));

// What a teacher is called: its own name, or its policy's, or its dataset's.
const teacherName = (it) => it.name || it.policy_name || it.dataset_name || namelessTeacher(it.id);

// What a teacher protects, with its numbers in place of their names.
function protectsText(it) {
  const { radius, resolved_up_to: top } = it.adjacency || {};
  return it.protects.charAt(0).toLowerCase() + it.protects.slice(1).replace("at most radius apart", `at most ${short(radius)} apart`).replace("adjacency.resolved_up_to", short(top));
}

async function teachersPage() {
  const [teachers, accounts] = [await askAll("/v1/teachers"), await askAll("/v1/ledger/accounts")];
  const shown = accounts.filter((it) => teachers.some((t) => it.account === t.account || (me.role === "student" && it.resource === t.id)));
  const buys = new Map(await Promise.all(shown.slice(0, BUYS_SHOWN).map(async (it) => [it.account, await buysOf(it)])));
  if (teachers.length === 0) return el("div", {}, el("h1", {}, "Teachers"), noTeachers());
  return el("div", {}, el("h1", {}, "Teachers"), teachers.map((it) => el("article", { class: "card apart", "data-key": it.id },
    el("div", { class: "line" }, el("h2", {}, teacherName(it)), el("span", { class: "pill" }, it.state)),
    el("div", { class: "soft mono" }, it.id), warned(it.warnings),
    el("p", {}, el("b", {}, "This protects: "), protectsText(it)),
    el("p", { class: "soft" }, `${it.mechanism.name}, `, it.cost_per_query ? `a first answer costs ${amount(it.cost_per_query)}` : "",
      typeof it.queries_in_client_budget === "number" ? `; a fresh client's budget pays ${it.queries_in_client_budget.toLocaleString("en")} answers` : "", ". ",
      it.certificate && el("a", { href: `/v1/teachers/${it.id}/certificate` }, "Certificate"),
      me.role === "student" && it.state === "open" && [" · ", el("a", { href: "/v1/budget-requests#" + it.id }, "Ask for more")]),
    usage(it, accounts, buys))));
}

const requestState = (it) => el("span", { class: "pill " + { approved: "succeeded", declined: "failed" }[it.status] }, it.status);

async function requestsPage() {
  const open = me.role === "steward" ? await askAll("/v1/budget-requests?status=open") : [];
  const asks = me.role === "student"; // what it has spent stands beside its form, which is drawn once
  const accounts = open.length > 0 || asks ? await askAll("/v1/ledger/accounts") : [];
  const standing = (it) => accounts.find((a) => a.kind === "client" && a.resource === it.teacher && a.client === it.client);
  const capOf = (it) => accounts.find((a) => a.kind === "teacher" && a.resource === it.teacher);
  const others = (await askAll("/v1/budget-requests")).filter((it) => me.role === "student" || it.status !== "open");
  const shown = others.slice(0, shownOf("requests"));
  return el("div", {}, el("h1", {}, "Requests for more"),
    asks && accounts.filter((it) => it.kind === "client" && it.resource).map((it) => el("p", { class: "soft", "data-key": it.account },
      `At ${it.resource_name || namelessTeacher(it.resource)} you have spent ε ${short(it.spent.epsilon)} of ${short(it.limit.epsilon)}.`)),
    asks && el("div", { class: "card", "data-key": "ask", "data-own": "askForm" }),
    open.map((it) => el("article", { class: "card apart", "data-key": it.id },
      el("h2", {}, it.client_name || it.client, ` asks for ${amount(it.asked)}`),
      el("p", {}, `“${it.reason}”`),
      el("p", { class: "soft" }, "At ", it.teacher_name || namelessTeacher(it.teacher), " ", el("span", { class: "mono" }, it.teacher),
        standing(it) ? `: ε ${short(standing(it).spent.epsilon)} of ${short(standing(it).limit.epsilon)} is spent` : "", `. Asked ${clock(it.created_at)}.`),
      teacherLeft(it, standing(it), capOf(it)),
      el("div", { "data-own": "decideForm", "data-id": it.id, "data-epsilon": String(it.asked.epsilon) }))),
    me.role === "steward" && open.length === 0 && el("p", { class: "note" }, "No request waits for you."),
    others.length > 0 && [el("h2", {}, me.role === "student" ? "Yours" : "Decided"),
      table(["Who", "Teacher", "#Asked ε", "Why", "State", "#Given ε", "Answer", "When"], shown.map((it) => ({ key: it.id, cells: [
        it.client_name || it.client, it.teacher_name || namelessTeacher(it.teacher), short(it.asked.epsilon), it.reason, requestState(it),
        it.given ? short(it.given.epsilon) : "–", it.answer || "–", soft(clock(it.decided_at || it.created_at))] }))),
      showMore("requests", shown.length, others.length)]);
}

// What the teacher that IT asks for more of has left for all clients together: CAP. OWN is the client's account.
function teacherLeft(it, own, cap) {
  if (!cap) return null;
  const left = cap.remaining.epsilon;
  const useful = left + (own ? own.spent.epsilon : 0);
  return [el("p", {}, `The teacher has ε ${short(left)} left for all clients together.`),
    it.asked.epsilon > useful && el("p", { class: "warn" }, `More is asked for than that: of a limit above ε ${short(useful)} the rest can never be used, unless the teacher's limit is raised.`)];
}

// A form of FIELDS and BUTTONS, each [text, class, path, members]: a press sends these members there, once.
function smallForm(label, fields, buttons, done) {
  const said = el("p", { role: "status", class: "good" });
  const made = buttons.map(([text, kind], i) => el("button", { type: i === 0 ? "submit" : "button", class: kind }, text));
  const form = el("form", { novalidate: true, "aria-label": label }, el("div", { class: "fields" }, fields),
    el("div", { role: "alert", class: "bad", tabindex: "-1" }), el("div", { class: "row" }, made), said);
  form.addEventListener("submit", (event) => event.preventDefault());
  made.forEach((button, i) => whenPressed(button, async () => {
    clearErrors(form);
    said.textContent = "";
    try {
      const [, , path, members] = buttons[i];
      const body = Object.fromEntries(Object.entries(bodyOf(form)).filter(([member]) => members.includes(member)));
      const answer = await askOnce(path + JSON.stringify(body), path, body);
      dropDraft(buttons[0][2]);
      done(form, said, answer);
    } catch (error) {
      showErrors(form, error.lost ? new Error("No answer came. Try again: it is sent as it was, and counts once.") : error);
    }
  }));
  keepDraft(form, buttons[0][2]);
  return form;
}

function decideForm(box) {
  const { id, epsilon } = box.dataset;
  const form = id.replace("_", "-");
  const given = textInput("number", { value: epsilon });
  box.replaceChildren(smallForm("Decide", [
    field(form, "Limit to give, ε", "/epsilon", given, "The whole limit, with what is spent already; at most what was asked for."),
    field(form, "Why", "/reason", textInput("text", { maxlength: 300 }), "The client reads it. Needed to decline."),
  ], [["Approve", "", `/v1/budget-requests/${id}:approve`, ["epsilon", "reason"]],
    ["Decline", "plain", `/v1/budget-requests/${id}:decline`, ["reason"]]], async (form_, said, answer) => {
    $("said").textContent = answer.given ? `Approved: ${amount(answer.given)}.` : "Declined.";
    await draw();
    const next = $("view").querySelector("article input");
    if (next) next.focus();
  }));
}

async function askForm(box) {
  const teachers = await askAll("/v1/teachers");
  const teacher = choice(teachers.map((it) => [it.id, teacherName(it)]));
  box.replaceChildren(el("h2", {}, "Ask for more"), smallForm("Ask for more", [
    field("ask", "Teacher", "/teacher", teacher, "Whose steward decides."),
    field("ask", "Limit you ask for, ε", "/epsilon", textInput("number"), "The whole limit, with what you have spent already."),
    field("ask", "Why", "/reason", textInput("text", { maxlength: 300 }), "If it is approved, the ledger keeps it for ever."),
  ], [["Ask", "", "/v1/budget-requests", ["teacher", "epsilon", "reason"]]], (form, said) => {
    said.textContent = "Asked. The steward decides; the answer appears below.";
    for (const input of form.querySelectorAll("input")) input.value = "";
    draw();
  }));
  if (teachers.some((it) => it.id === location.hash.slice(1))) teacher.value = location.hash.slice(1);
  if (location.hash) box.querySelector("#ask-epsilon").focus();
}
