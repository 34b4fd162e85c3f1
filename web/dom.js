// Nodes: making them, and changing a drawn page into a fresh one.
"use strict";

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

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.dataset.key : undefined);

// Makes the children of OLD those of FRESH. One with a data-key stays itself wherever it goes.
function patchChildren(old, fresh) {
  const is = [...fresh.childNodes];
  const wanted = new Set(is.map(keyOf));
  [...old.childNodes].forEach((node) => keyOf(node) && !wanted.has(keyOf(node)) && node.remove());
  const kept = new Map([...old.childNodes].filter(keyOf).map((node) => [keyOf(node), node]));
  is.forEach((node, i) => {
    const [at, mine] = [old.childNodes[i], kept.get(keyOf(node))];
    if (mine && mine !== at) old.insertBefore(mine, at || null);
    if (mine) patch(mine, node);
    else if (!at || keyOf(at) || keyOf(node)) old.insertBefore(node, at || null);
    else patch(at, node);
  });
  while (old.childNodes.length > is.length) old.lastChild.remove();
}

// Makes OLD what FRESH is and keeps every node that is the same in both: so the focus, a selection and the
// scroll of the page stay where they are, and a screen reader hears only what changed. What a node with
// data-own holds is its own: a form that is being filled in.
function patch(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || old.namespaceURI !== fresh.namespaceURI) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.dataset.own && old.dataset.own === fresh.dataset.own) return;
  const kept = old.nodeName === "DETAILS" ? "open" : "tabindex"; // what was opened stays open; what was given the focus can keep it
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== kept) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) === value) continue;
    if (name === "style") old.style.cssText = value; // the page's policy lets no script set the attribute
    else old.setAttribute(name, value);
  }
  patchChildren(old, fresh);
}
