"use strict";
// Texts become text nodes: nothing from the data is ever read as HTML.
function make(kind, attributes = {}, ...children) {
  const node = document.createElement(kind);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null));
  return node;
}

const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
const tidy = (text) => text.normalize("NFC").replace(/\s+/g, " ").trim();

// Gives an annotator the file to hand in.
function saveAnswers(name, record) {
  const text = JSON.stringify(record, null, 1) + "\n";
  const slug = name.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "annotator";
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href: url, download: `answers-${slug}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
