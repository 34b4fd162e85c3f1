// The form of a new job, made from the algorithm tables: what the service can train, with which parameters.
"use strict";

const ADVISED = { mechanisms: ["auto"], needs_dataset: true, parameters: [], summary: "What the advisor ranks first for this dataset and privacy." };
const amount = (it) => `ε ${short(it.epsilon)}, δ ${short(it.delta)}`;

// The input of a parameter of the tables: its bounds and what it is without a word in the hint.
function parameterField(parameter, world) {
  const own = (parameter.environment_defaults || {})[world];
  const usual = [own === undefined ? parameter.default : own].flat().join(", ");
  const list = parameter.type === "numbers" || parameter.type === "integers";
  const input = parameter.type === "choice" ? choice([["", `default: ${usual}`], ...parameter.choices])
    : textInput(list ? "numbers" : "number", { placeholder: usual });
  const bounds = parameter.minimum === undefined ? "" : ` ${list ? "Each from" : "From"} ${parameter.minimum} to ${parameter.maximum}${parameter.unit ? " " + parameter.unit : ""}, default ${usual}.`;
  return field("job", parameter.name.replaceAll("_", " "), "/parameters/" + parameter.name, input, parameter.meaning + bounds);
}

// What the service says of the job that is asked for.
function estimateView(it) {
  const rows = [];
  const row = (name, ...what) => rows.push(el("dt", {}, name), el("dd", {}, what));
  const { advice, cost, leaves, plan } = it;
  if (!it.feasible) row("Cannot be done", el("span", { class: "bad" }, it.reason, "."), it.least && ` The least that would do: ${amount(it.least)}.`);
  for (const account of !it.feasible && /budget/.test(it.reason) ? it.accounts || [] : []) {
    row("What would fit", `At most what is left: ${amount(account.remaining)}`, account.reserved.epsilon > 0 && `, and ${amount(account.reserved)} more if the jobs that hold it give it back`, ". ",
      el("a", { href: "/v1/ledger/accounts/" + account.account }, "The budget"), "; ", el("a", { href: `/docs#changeLimit?id=${account.account}` }, "change its limit"), ".");
  }
  if (cost) row("Price", el("b", {}, amount(cost)));
  const basic = (it.accounts || []).every((account) => account.accounting === "basic");
  const more = leaves && cost && Math.floor(Math.min(leaves.epsilon / cost.epsilon, cost.delta > 0 ? leaves.delta / cost.delta : Infinity));
  if (leaves) row("Then left", amount(leaves), basic && Number.isFinite(more) && `, which buys ${more} more ${more === 1 ? "job" : "jobs"} like this`);
  if (it.warning) {
    const { delta } = it.warning.better;
    row("Mind", el("span", { class: "warn" }, it.warning.detail), " ", el("button", { type: "button", class: "quiet", "data-delta": String(delta) }, `Use δ ${short(delta)}`));
  }
  if (advice) {
    row("Advice", el("b", { class: { hopeless: "bad", weak: "warn", good: "good" }[advice.verdict] }, advice.verdict), ". ", advice.sentence,
      advice.refused && el("p", { class: "bad" }, "A job with this plan is refused as hopeless, unless you tick “Train even if the advisor expects nothing useful”."));
    const enough = (advice.enough || {}).weak;
    if (enough && (enough.experts || enough.epsilon)) {
      row("Enough for a weak one", [enough.experts && `${enough.experts} experts`, enough.epsilon && `ε ${short(enough.epsilon)}`].filter(Boolean).join(", or "));
    }
  }
  if (plan && plan.steps) row("Plan", `${plan.steps} steps`, plan.noise_multiplier ? `, noise ${short(plan.noise_multiplier)} times the clip norm` : "");
  row("Time", it.running_time ? `about ${span(Math.max(1, it.running_time.seconds)).replace(" left", "")} on one core, without the queue` : it.running_time_unknown || "unknown");
  if (it.uncovered) row("Not covered", el("span", { class: "bad" }, it.uncovered));
  return el("dl", {}, rows);
}

// Fills BOX with the form.
async function jobForm(box) {
  const itemsOf = async (path) => (await ask(path)).items;
  const [algorithms, datasets, worlds, policies] = await Promise.all([itemsOf("/v1/algorithms"), askAll("/v1/datasets"),
    itemsOf("/v1/environments"), askAll("/v1/policies")]);
  const [, of] = location.hash.split("?like=");
  const like = of && await ask("/v1/jobs/" + of).catch(() => null);
  const known = new Map([["auto", ADVISED], ...algorithms.map((it) => [it.name, it])]);
  const named = (it) => [it.id, `${it.name || it.id}${it.state === "open" ? " (not sealed yet)" : ""} · ${it.id}`];
  const select = {
    algorithm: choice([...known.keys()]),
    dataset: choice([["", "choose one"], ...datasets.map(named)]),
    environment: choice([["", "choose one"], ...worlds.filter((it) => !it.id).map((it) => it.name)]),
    policy: choice([["", "choose one"], ...policies.map(named)]),
    mechanism: choice([]),
    played: choice([["", "none"], ...worlds.map((it) => (it.id ? named(it) : it.name))]),
  };
  const tick = (value) => el("input", { type: "checkbox", value: JSON.stringify(value) });
  const part = {
    algorithm: field("job", "Algorithm", "/algorithm", select.algorithm, ""),
    dataset: field("job", "Dataset", "/dataset", select.dataset, "Whose experts are protected, and whose budget pays."),
    environment: field("job", "World", "/environment", select.environment, "Where it learns."),
    policy: field("job", "Policy", "/policy", select.policy, "Which is played."),
    mechanism: field("job", "Mechanism", "/mechanism", select.mechanism, ""),
    epsilon: field("job", "ε (epsilon)", "/privacy/epsilon", textInput("number"), "What the job may spend: above 0, at most 1000."),
    delta: field("job", "δ (delta)", "/privacy/delta", textInput("number"), "Such as 1e-6; or auto: the part of what is left that ε is of the ε that is left."),
    force: field("job", "Train even if the advisor expects nothing useful", "/privacy/force", tick(true), "Otherwise a plan that will learn next to nothing is refused, and nothing is spent."),
    bare: field("job", "I understand that nobody is protected", "/i_understand", tick("not_private"), "Without a mechanism a private dataset is never again covered by its budget."),
    played: field("job", "Evaluate in", "/evaluate/environment", select.played, "The policy is played there once it is finished. Costs no budget."),
    more: field("job", "Anything else, as JSON", "/*", el("textarea", { "data-kind": "json", rows: 3, spellcheck: "false" }),
      "Further members of the request, such as {\"sweep\": {\"steps\": [1000, 5000]}}."),
  };
  const parameters = el("div", { class: "fields" });
  const folded = el("details", {}, el("summary", {}, "Parameters"), parameters);
  const [estimate, create] = [el("button", { type: "submit", class: "plain" }, "Estimate"), el("button", { type: "button", id: "create" }, "Create job")];
  const forget = el("button", { type: "button", class: "plain", id: "give-up" }, "Give it up");
  const said = el("div", { role: "status", id: "estimate" });
  const form = el("form", { id: "job-form", novalidate: true, "aria-label": "New job" },
    el("div", { class: "fields" }, part.algorithm, part.dataset, part.environment, part.policy, part.mechanism, part.epsilon, part.delta,
      part.played, part.force, part.bare), folded, el("details", {}, el("summary", {}, "More"), part.more),
    el("div", { role: "alert", class: "bad", tabindex: "-1" }), el("div", { class: "row" }, estimate, create, forget), said);

  // What belongs to the algorithm that is chosen.
  let shaped = null;
  function shape() {
    const it = known.get(select.algorithm.value);
    const [mechanism, chosen] = [select.mechanism.value, datasets.find((d) => d.id === select.dataset.value)];
    const mechanisms = it === ADVISED ? it.mechanisms : [...it.mechanisms.filter((m) => m !== "none"), ...it.mechanisms.filter((m) => m === "none"),
      ...(it.needs_dataset && it.mechanisms.length > 1 ? ["auto"] : [])];
    select.mechanism.replaceChildren(...mechanisms.map((m) => el("option", { value: m }, m)));
    select.mechanism.value = it === shaped ? mechanism : mechanisms[0];
    shaped = it;
    const bare = select.mechanism.value === "none";
    const secret = bare && it.needs_dataset && (chosen || {}).sensitivity === "private";
    const free = bare || select.mechanism.value === "teacher_answers"; // a teacher's budgets pay then
    const world = it.needs_dataset ? (chosen || {}).environment : select.environment.value;
    const typed = new Map([...parameters.querySelectorAll("[data-at]")].map((input) => [input.id, input.value]));
    parameters.replaceChildren(...it.parameters.map((parameter) => parameterField(parameter, world)));
    for (const input of parameters.querySelectorAll("[data-at]")) input.value = typed.get(input.id) || "";
    form.querySelector("#job-algorithm-hint").textContent = it.summary;
    const shown = { dataset: it.needs_dataset, environment: it.needs_environment, policy: it.needs_policy, mechanism: mechanisms.length > 1,
      epsilon: !free, delta: !free && select.mechanism.value !== "local_reports", force: !free, played: it.name !== "audit" && !secret,
      bare: secret };
    for (const [name, is] of Object.entries(shown)) part[name].hidden = !is;
    folded.hidden = it.parameters.length === 0;
  }

  // Says what JOB was made with, where the form has a field for it. What is usual stays unsaid.
  function sayLike({ algorithm, dataset, environment, policy, mechanism, privacy, parameters: own }) {
    const say = (at, values) => Object.entries(values || {}).forEach(([name, value]) => {
      const input = form.querySelector(`[data-at="${at}/${name}"]`);
      const text = [value ?? ""].flat().join(", ");
      if (input && text !== input.placeholder) input.value = text;
    });
    say("", { algorithm, dataset, environment, policy: known.get(algorithm)?.needs_policy ? policy : null });
    shape();
    say("", { mechanism });
    shape();
    say("/privacy", (privacy || {}).requested);
    say("/parameters", own);
    folded.open = true;
  }

  // A job whose answer was lost is asked for again before anything else.
  function lost() {
    const is = sentBefore("job") !== null;
    for (const input of form.querySelectorAll("[data-at]")) input.disabled = is;
    estimate.hidden = is;
    forget.hidden = !is;
    create.textContent = is ? "Ask again for that job" : "Create job";
    if (is) said.replaceChildren(el("p", { class: "warn" }, "No answer came that says whether the job is there. Asking again sends the same under the same key: it is made at most once. If you give it up, look among the jobs whether it is there."));
  }

  async function send(work) {
    clearErrors(form);
    try { await work(); } catch (error) {
      lost();
      showErrors(form, error.lost ? new Error("The service is out of reach. What you typed stays here.") : error);
      form.querySelector("[role=alert]").classList.toggle("lost", Boolean(error.lost));
    }
  }
  // The request: with privacy even where nothing of it is filled in, so that all that is missing is said at once.
  const request = () => ({ ...(!part.epsilon.hidden && { privacy: {} }), ...bodyOf(form) });
  form.addEventListener("change", (event) => [select.algorithm, select.dataset, select.environment, select.mechanism].includes(event.target) && shape());
  let changes = 0; // of what was typed: an estimate speaks of what it was asked for
  form.addEventListener("input", () => {
    changes++;
    if (sentBefore("job") === null) said.replaceChildren();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  whenPressed(estimate, () => send(async () => {
    const before = changes;
    said.replaceChildren("Asking…");
    try {
      const view = estimateView(await ask("/v1/jobs:estimate", "POST", request()));
      if (changes === before) said.replaceChildren(view);
    } catch (error) {
      said.replaceChildren();
      throw error;
    }
  }));
  said.addEventListener("click", ({ target: { dataset: { delta } } }) => {
    if (!delta) return;
    const input = part.delta.querySelector("input");
    input.value = delta;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    estimate.click();
    estimate.focus();
  });
  whenPressed(create, () => send(async () => {
    const job = await askOnce("job", "/v1/jobs", sentBefore("job") ? null : request());
    dropDraft(like ? "job-" + like.id : "job");
    sessionStorage.setItem(ARRIVED, "1");
    location.assign("/v1/jobs/" + job.id);
    await new Promise(() => {}); // no click makes another job until that page is there
  }));
  whenPressed(forget, async () => {
    giveUp("job");
    clearErrors(form);
    said.replaceChildren();
    lost();
    select.algorithm.focus();
  });
  box.replaceChildren(...(datasets.length === 0 ? [nextStep("You have no dataset yet, so a job can learn in a world only.", howToStart())] : []), form);
  shape();
  if (like) sayLike(like);
  keepDraft(form, like ? "job-" + like.id : "job", shape);
  lost();
}
