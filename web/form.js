// Forms: fields with their names, hints and errors, the JSON that they say, and sending it once.
"use strict";

const SENT = "tacet-sent-";

// A field of FORM (an id) for the member AT of the body, a JSON pointer. What INPUT says as JSON is by its
// data-kind: text, number, numbers or json; an empty one says nothing.
function field(form, label, at, input, hint) {
  const id = form + at.replaceAll("/", "-");
  input.id = id;
  input.dataset.at = at;
  input.setAttribute("aria-describedby", `${id}-hint ${id}-error`);
  return el("div", { class: "field" }, el("label", { for: id }, label), input,
    el("span", { class: "soft", id: id + "-hint" }, hint), el("span", { class: "bad", id: id + "-error" }));
}

const textInput = (kind, attributes) => el("input", { type: "text", "data-kind": kind, autocomplete: "off", spellcheck: "false",
  ...(kind === "number" && { inputmode: "decimal" }), ...attributes });

// A choice of OPTIONS, each a value or [value, text].
function choice(options, attributes) {
  return el("select", { "data-kind": "text", ...attributes }, options.map((option) => {
    const [value, text] = [option].flat();
    return el("option", { value }, text === undefined ? value : text);
  }));
}

// A number where TEXT is one; else the text itself, and the service says at this field what is wrong with it.
const numberOr = (text) => (Number.isNaN(Number(text)) ? text : Number(text));

function valueOf(input) {
  if (input.type === "checkbox") return input.checked ? JSON.parse(input.value) : undefined;
  const text = input.value.trim();
  if (text === "") return undefined;
  if (input.dataset.kind === "text") return text;
  if (input.dataset.kind === "json" || text.startsWith("[")) {
    try { return JSON.parse(text); } catch { throw new Error("is not JSON"); }
  }
  if (input.dataset.kind === "number" && text.includes(",")) throw new Error("has a comma: write a point, as in 1.5");
  const numbers = text.split(/[\s,]+/).filter(Boolean).map(numberOr);
  return input.dataset.kind === "numbers" || numbers.length > 1 ? numbers : numbers[0];
}

// The JSON that the fields of FORM say which can be seen, or are folded away.
function bodyOf(form) {
  const body = {};
  for (const input of form.querySelectorAll("[data-at]")) {
    if (input.closest("[hidden]")) continue;
    let value;
    try { value = valueOf(input); } catch (error) {
      throw Object.assign(new Error("One thing is wrong:"), { errors: [{ pointer: input.dataset.at, detail: error.message }] });
    }
    if (value === undefined) continue;
    const names = input.dataset.at.split("/").slice(1);
    const last = names.pop();
    const at = names.reduce((object, name) => (object[name] ??= {}), body);
    if (last === "*") for (const [name, more] of Object.entries(value)) at[name] = isObject(more) ? { ...at[name], ...more } : more;
    else at[last] = value;
  }
  return body;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function clearErrors(form) {
  for (const input of form.querySelectorAll("[data-at]")) {
    input.removeAttribute("aria-invalid");
    form.querySelector(`[id="${input.id}-error"]`).textContent = "";
  }
  form.querySelector("[role=alert]").replaceChildren();
}

// TEXT of the service for this page: what it names by an id, or as a call, is a link.
function withLinks(text) {
  const [id] = /\bacc_\w+/.exec(text) || [];
  const raise = me.role === "steward" && id ? `/docs#changeLimit?id=${id}` : "/v1/budget-requests";
  const links = { "A higher limit can be asked for": ["Ask for a higher limit", raise], putClientBudget: ["setting this client's budget", "/docs#putClientBudget"],
    ...(id && { [`The account ${id}`]: ["The budget", placeOf(id)] }) };
  return text.split(/(A higher limit can be asked for|putClientBudget|The account acc_\w+)/).map((part) => {
    const [said, to] = links[part] || [];
    return to ? el("a", { href: to }, said) : part;
  });
}

// Puts each of ERROR's errors at its field, what has no field into the form's alert, and the focus on the first.
function showErrors(form, error) {
  const inputs = [...form.querySelectorAll("[data-at]")].filter((input) => !input.closest("[hidden]"));
  const fieldOf = (pointer) => inputs.find((input) => pointer === input.dataset.at || pointer.startsWith(input.dataset.at + "/")) ||
    inputs.find((input) => input.dataset.at.startsWith(pointer + "/"));
  const rest = [];
  for (const { pointer, detail } of error.errors || []) {
    const input = pointer && fieldOf(pointer);
    if (!input) rest.push(`${(pointer || "").split("/").slice(1).join(" ").replaceAll("_", " ")} ${detail}`);
    else {
      input.setAttribute("aria-invalid", "true");
      form.querySelector(`[id="${input.id}-error"]`).textContent = detail;
      rest.push(`${form.querySelector(`[for="${input.id}"]`).textContent}: ${detail}`);
    }
  }
  const counted = rest.length === 1 ? "One thing is wrong:" : `${rest.length} things are wrong:`;
  const said = error.status && rest.length > 0 ? counted : error.message; // the service's sentence sends to its list, which follows
  form.querySelector("[role=alert]").replaceChildren(...[said, ...rest].map((text) => el("p", {}, withLinks(text))));
  const first = form.querySelector("[aria-invalid]");
  for (let node = first; node; node = node.parentElement) if (node.nodeName === "DETAILS") node.open = true;
  (first || form.querySelector("[role=alert]")).focus();
}

const DRAFT = "tacet-draft-";

// Whether something was typed into the form NAME and not sent.
function hasDraft(name) {
  const { client, typed } = JSON.parse(sessionStorage.getItem(DRAFT + name)) || {};
  return client === me.id && Object.keys(typed).length > 0;
}

// Keeps what is typed into FORM as NAME, in this tab, until it is sent; fills it in where that was left. SHAPE makes the
// fields that depend on others.
function keepDraft(form, name, shape = () => {}) {
  const inputs = () => [...form.querySelectorAll("[data-at]")];
  const [what, usual] = [DRAFT + name, new Map(inputs().map((input) => [input.id, stateOf(input)]))];
  const draft = JSON.parse(sessionStorage.getItem(what)) || {};
  for (let pass = 0; draft.client === me.id && pass < 2; pass++) { // the second fills in what the first has made
    for (const input of inputs()) if (input.id in draft.typed) input[stateName(input)] = draft.typed[input.id];
    shape();
  }
  const keep = () => {
    const typed = inputs().filter((input) => stateOf(input) !== (usual.has(input.id) ? usual.get(input.id) : ""));
    sessionStorage.setItem(what, JSON.stringify({ client: me.id, typed: Object.fromEntries(typed.map((input) => [input.id, stateOf(input)])) }));
  };
  form.addEventListener("input", keep);
  form.addEventListener("change", keep);
}

const stateName = (input) => (input.type === "checkbox" ? "checked" : "value");
const stateOf = (input) => input[stateName(input)];
const dropDraft = (name) => sessionStorage.removeItem(DRAFT + name);

// A UUID of version 7: a service that was restored answers no new key that does not name its time.
function freshKey() {
  const time = Date.now().toString(16).padStart(12, "0");
  const random = [...crypto.getRandomValues(new Uint8Array(9))].map((x) => x.toString(16).padStart(2, "0")).join("");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6)}`;
}

// Whether an answer of STATUS tells what became of the call: a call of which nothing is known is asked again as it was.
const isFinal = (status) => status < 500 && status !== 401 && status !== 429;

// What this client has sent as WHAT and has no answer to; null: nothing.
function sentBefore(what) {
  const sent = JSON.parse(sessionStorage.getItem(SENT + what));
  return sent && sent.client === me.id ? sent : null;
}

const giveUp = (what) => sessionStorage.removeItem(SENT + what);

// POSTs BODY once: under a key that is kept, with the body, until the service has answered, also when the page
// is loaded again. A further try sends the same, and so nothing is made twice.
async function askOnce(what, path, body) {
  const sent = sentBefore(what) || { key: freshKey(), path, body, client: me.id };
  sessionStorage.setItem(SENT + what, JSON.stringify(sent));
  try {
    const answer = await ask(sent.path, "POST", sent.body, sent.key);
    giveUp(what);
    return answer;
  } catch (error) {
    if (isFinal(error.status)) giveUp(what);
    throw error;
  }
}

// Lets one click of a form's button at a time do its work; the button keeps the focus.
function whenPressed(button, work) {
  let busy = false;
  button.addEventListener("click", async (event) => {
    event.preventDefault();
    if (busy) return;
    busy = true;
    button.setAttribute("aria-disabled", "true");
    try { await work(); } finally {
      busy = false;
      button.removeAttribute("aria-disabled");
    }
  });
}
