// Jobs: their list, and of one what it gave, what it paid and why, and how it learned.
"use strict";

// What a job is called: its algorithm, and the dataset or the world that it learns from.
function jobName(job) {
  const of = job.dataset_name || job.dataset || job.environment;
  return (job.rehearse ? "rehearsal of " : "") + job.algorithm + (of ? " on " + of : "");
}

// What a queued job waits for.
function place(job) {
  const { queue_place: at, queue_own: own } = job.progress || {};
  if (job.state !== "queued" || !at) return "";
  return `number ${at} in the queue${own ? `, behind ${own} of the project's own jobs` : ""}`;
}

function jobTable(jobs) {
  if (jobs.length === 0) return nextStep("No jobs yet. A job trains a policy, on a dataset or in a world.", el("a", { href: "/v1/jobs#new" }, "New job"));
  return table(["Job", "State", "Progress", "#Return", "Since"], jobs.map((job) => ({ key: job.id, cells: [
    el("div", {}, el("a", { href: "/v1/jobs/" + job.id }, jobName(job)), el("div", { class: "soft" }, job.mechanism === "none" ? "" : job.mechanism, " ", el("span", { class: "mono" }, job.id))),
    [el("span", { class: "pill " + job.state }, job.state), el("div", { class: "soft reason" }, place(job) || (job.error || {}).detail || "")],
    [progress(job), soft(timeLeft(job))],
    job.evaluation ? short(job.evaluation.mean_return) : "–",
    soft(clock(job.created_at))] })));
}

const CURVES = "tacet-curve-";
const POINTS_KEPT = 300;

// The mean returns of a public training as this tab has seen them: [step, mean return]. They stay when it ends.
function seenReturns(job) {
  const { step, mean_return: y } = job.progress || {};
  let seen = JSON.parse(sessionStorage.getItem(CURVES + job.id)) || [];
  if (typeof y !== "number" || (seen.length > 0 && seen.at(-1)[0] >= step)) return seen;
  seen.push([step, y]);
  if (seen.length > POINTS_KEPT) seen = seen.filter((_, i) => i % 2 === 0);
  sessionStorage.setItem(CURVES + job.id, JSON.stringify(seen));
  return seen;
}

function curve(job) {
  const seen = seenReturns(job);
  if (seen.length === 0) return null;
  const last = seen.at(-1)[1];
  const head = el("div", { class: "line" }, el("b", {}, "Mean return of recent episodes"), soft(`${jobIsOver(job) ? "at the end" : "now"} ${short(last)}`));
  if (seen.length < 2) return el("div", { class: "card" }, head);
  const [low, high] = [Math.min(...seen.map((p) => p[1])), Math.max(...seen.map((p) => p[1]))];
  const [from, to] = [seen[0][0], seen.at(-1)[0]];
  const points = seen.map(([x, v]) => `${(600 * (x - from) / (to - from)).toFixed(1)},${(100 - 100 * (v - low) / (high - low || 1)).toFixed(1)}`);
  return el("div", { class: "card" }, head,
    scaled(drawing(`mean return from ${short(seen[0][1])} to ${short(last)}`, [["", points.join(" ")]]), short(high), short(low), `step ${from.toLocaleString("en")}`, `step ${to.toLocaleString("en")}`));
}

// How long a running job takes still; after its last step, what it does.
function timeLeft(job) {
  const { fraction, eta_seconds: seconds } = job.progress || {};
  if (job.state !== "running") return "";
  return fraction >= 1 ? (job.judge ? "judging" : "finishing") : span(seconds);
}

const jobIsOver = (job) => !["queued", "running"].includes(job.state);

// On top of a job that is over: what it gave and what it paid, in sentences.
function jobSummary(job) {
  const rows = [];
  const row = (name, ...what) => rows.push(el("dt", {}, name), el("dd", {}, what));
  if (job.dataset) row("Dataset", el("a", { href: placeOf(job.dataset) }, job.dataset_name || job.dataset));
  if (job.environment) row("World", job.environment);
  if (job.evaluation) row("Return", el("b", {}, short(job.evaluation.mean_return)), ` on average over ${job.evaluation.episodes} episodes (standard deviation ${short(job.evaluation.std_return)})`);
  const { judge, rehearsal } = job.findings || {};
  if (judge) {
    const [name, kind] = { supported: ["supported", "good"], weak: ["weak", "warn"] }[judge.verdict] || ["not supported", "bad"];
    const experts = judge.behaviour && `The experts earned ${short(judge.behaviour.value)}, the policy earns between ${short(judge.value.low)} and ${short(judge.value.high)}. `;
    row("The judge says", el("b", { class: kind }, name), ". ", experts || "", (judge.reasons || [])[0] || "");
  }
  if (rehearsal) row("Rehearsal", rehearsal.sentence);
  const { paid, privacy } = job;
  const unit = (privacy || {}).unit || "expert";
  if (paid) {
    row("Paid", paid.epsilon > 0 || paid.delta > 0 ? [el("b", {}, amount(paid)), `, from the dataset's budget. `] : "Nothing. ",
      job.why || (job.state === "succeeded" ? "This is the price of its whole plan." : ""));
  } else if (privacy && !jobIsOver(job) && privacy.reserved.epsilon > 0) row("Held", amount(privacy.reserved), " of the dataset's budget until it ends");
  else if (privacy && jobIsOver(job) && privacy.spent.epsilon > 0) row("Cost", amount(privacy.spent), ` to one ${unit}; no budget was debited`);
  else if (["failed", "cancelled"].includes(job.state)) row("Paid", "Nothing.");
  if (job.policy) row("Policy", el("a", { href: `/v1/policies/${job.policy}` }, job.policy_name || job.policy));
  if (job.q_release) row("Release", el("a", { href: `/v1/q-releases/${job.q_release}` }, job.q_release));
  if (job.state === "succeeded" && job.mechanism !== "none" && job.algorithm !== "evaluate" && (job.policy || job.q_release)) {
    row("Certificate", el("a", { href: job.policy ? `/v1/policies/${job.policy}/certificate` : `/v1/q-releases/${job.q_release}/certificate` }, "what is guaranteed, signed"));
  }
  return rows.length > 0 && el("div", { class: "card apart" }, el("dl", {}, rows));
}

// What a job may cost that is cancelled now.
function cancelQuestion(job) {
  const held = (job.privacy || {}).reserved;
  if (job.state === "queued") return "Cancel this job? As long as it waits it pays nothing.";
  if (!held || !(held.epsilon > 0)) return "Cancel this job? No dataset's budget is held for it.";
  return `Cancel this job? It pays for what it has done so far, at most what it holds: ${amount(held)}. What is paid is never given back.`;
}

function jobPage(job) {
  const { state, created_at, started_at, finished_at, progress: at, error, notes, algorithm, mechanism, why, ...rest } = job;
  return el("div", {},
    el("h1", {}, jobName(job), " ", el("span", { class: "pill " + state, role: "status" }, state)),
    el("p", { class: "soft" }, el("span", { class: "mono" }, job.id), mechanism === "none" ? " · no mechanism" : ` · ${mechanism}`, " · created ", clock(created_at),
      finished_at && ` · ended ${clock(finished_at)}`),
    error && el("p", { class: "card bad" }, error.detail),
    !jobIsOver(job) && el("div", { class: "card apart" }, progress(job),
      el("div", { class: "line" }, el("span", {}, place(job), timeLeft(job)),
        el("button", { type: "button", class: "quiet", "data-cancel": job.id, "data-ask": cancelQuestion(job), disabled: job.cancel_requested },
          job.cancel_requested ? "stopping…" : "Cancel this job"))),
    jobSummary(job),
    ["failed", "cancelled"].includes(state) && ![job.sweep, job.shards, job.features, job.teacher, job.choose].some(Boolean) &&
      el("p", {}, el("a", { href: `/v1/jobs#new?like=${job.id}` }, "New job with these settings")),
    (notes || []).map((note) => el("p", { class: "note" }, note)),
    el("div", { class: "apart" }, curve(job)),
    el("details", { class: "card", "data-key": "settings" }, el("summary", {}, "All settings"), tree({ started_at, ...rest })));
}
