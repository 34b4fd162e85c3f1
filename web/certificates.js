// Certificates: what one says, and whether it is genuine.
"use strict";

const bytesOf = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

// Checks a certificate here, by the public key of the service: Ed25519 over its text without the signature.
// null: this browser cannot.
async function isGenuine(text, signature) {
  const found = (await ask("/.well-known/jwks.json")).keys.find((k) => k.kid === signature.key_id);
  if (!found) return false;
  try {
    const key = await crypto.subtle.importKey("jwk", { kty: found.kty, crv: found.crv, x: found.x }, "Ed25519", false, ["verify"]);
    const signed = new TextEncoder().encode(text.trimEnd().replace(/"signature":\{[^{}]*\},?/, ""));
    return await crypto.subtle.verify("Ed25519", key, bytesOf(signature.value), signed);
  } catch {
    return null;
  }
}

// What a certificate says, in a sentence.
function certificateSentence(it) {
  const { unit, epsilon, delta } = it.privacy || {};
  if (typeof epsilon !== "number") return null;
  const whose = it.subject === "teacher" ? "All answers of this teacher together, as long as its limit is not raised, are" : "What was released is";
  return el("p", {}, `${whose} differentially private with ε ${epsilon} and δ ${delta}, per ${unit}. `,
    it.dataset_covered === false && el("span", { class: "bad" }, "But other releases of the same dataset are not covered by its budget. "),
    "Its assumptions and what it does not cover stand below.");
}

function certificatePage(path, it) {
  const { verified, ...rest } = it;
  const part = (title, ...texts) => {
    const said = texts.flat().filter(Boolean);
    return said.length > 0 && [el("h2", {}, title), el("ul", { class: "card" }, said.map((text) => el("li", {}, text)))];
  };
  const said = { true: ["good", "Genuine: this browser checked the signature with the service's public key."],
    false: ["bad", "The signature does not hold: this certificate was changed, or is not of this service."],
    null: ["warn", "This browser cannot check Ed25519 here. `tacet certificate verify` does."] }[verified];
  return el("div", {}, el("h1", {}, "Certificate"), certificateSentence(it), el("p", { class: "card " + said[0], id: "genuine" }, said[1]),
    el("p", {}, fileButton(path, `${it.id}.json`, "Download it")),
    part("What is guaranteed", it.protects, (it.privacy || {}).neighbours, it.expert_means && `An expert is ${it.expert_means}.`, it.limit_may_change),
    part("What it assumes", it.assumptions), part("What it does not cover", it.does_not_protect, it.warnings),
    el("details", { class: "card apart", "data-key": "signed" }, el("summary", {}, "All that is signed"), tree(rest)));
}
