"use strict";
// Text from cases is inserted as text nodes only; nothing here parses a string as HTML.

const data = JSON.parse(document.getElementById("data").textContent);
// The browser stores the labels under this key: the page of another sample has its own.
const STORAGE_KEY = `groundjudge label ${data.sample} ${data.part}`;
const LEAST_SHARED = 4; // the shortest word worth marking, in characters; numbers are marked at any length
const LONGEST_PAUSE_S = 300; // a longer pause was a break, not time spent on the row

// --- what was labelled ----------------------------------------------------------------------------

let saved = { annotator: "", at: 0, marks: false, rows: Object.create(null), past: [] };
function restore() {
  try {
    const stored = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");
    // Ids are keys: none may be mistaken for a property that every object has.
    saved = { ...saved, ...stored, rows: Object.assign(Object.create(null), stored.rows) };
  } catch { /* the stored value is not ours, or storage is not allowed */ }
}
restore();

let canSave = true;
function save() {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(saved));
  } catch {
    canSave = false;
  }
}

const rowOf = (at) => (saved.rows[data.rows[at].id] ??= { seconds: 0 });
const isLabelled = (at) => saved.rows[data.rows[at].id]?.label !== undefined;
const labelled = () => data.rows.filter((_, at) => isLabelled(at)).length;

function lines() {
  return data.rows.filter((_, at) => isLabelled(at)).map(({ id }) => {
    const { label, seconds, note } = saved.rows[id];
    return JSON.stringify({ id, label, seconds: Math.round(seconds * 10) / 10, annotator: saved.annotator || `person ${data.part}`, note: note ?? "", sample: data.sample });
  }).join("\n") + "\n";
}

// --- the time spent on a row ----------------------------------------------------------------------

let since = Date.now();
function clock() {
  const passed = (Date.now() - since) / 1000;
  since = Date.now();
  if (passed < LONGEST_PAUSE_S && !isLabelled(saved.at)) rowOf(saved.at).seconds += passed;
}

function timeLeft() {
  const spent = data.rows.filter((_, at) => isLabelled(at)).map(({ id }) => saved.rows[id].seconds).sort((a, b) => a - b);
  if (!spent.length) return "";
  const minutes = (spent[Math.floor(spent.length / 2)] * (data.rows.length - spent.length)) / 60;
  return minutes < 1 ? ", less than a minute left" : `, about ${Math.round(minutes)} minutes left`;
}

// --- elements -------------------------------------------------------------------------------------

function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

function header() {
  const name = h("input", { type: "text", id: "annotator", autocomplete: "off", value: saved.annotator, oninput: ({ target }) => { saved.annotator = target.value.trim(); save(); } });
  const marks = h("input", { type: "checkbox", id: "marks", checked: saved.marks, onchange: ({ target }) => { saved.marks = target.checked; save(); mark(null); } });
  document.getElementById("top").append(
    h("h1", null, data.question),
    h("details", null, h("summary", null, "What the judge is told"), h("p", null, data.description), h("p", { class: "text raw" }, data.instructions)),
    h("div", { class: "line" },
      h("p", { class: "quiet small", id: "count", role: "status" }),
      h("label", { class: "switch", title: "Helps you skim, but can mislead: a shared word alone supports nothing." }, marks, "Mark words that a sentence shares with the documents"),
      h("label", null, "Your name", name),
      h("button", { class: "tool", id: "download", onclick: download }, "Download labels")),
    h("div", { class: "progress" }, data.rows.map((_, at) => h("button", { "aria-label": `Row ${at + 1}`, tabindex: -1, onclick: () => go(at) }))),
    h("p", { class: "quiet small" }, h("kbd", null, "j"), " next ", h("kbd", null, "k"), " previous ", h("kbd", null, "u"), " undo ", h("kbd", null, "n"), " note"));
}

function choices() {
  document.getElementById("choices").replaceChildren(
    ...data.choices.map(({ key, text }, position) => h("button", { class: "tool", "data-position": position, onclick: () => choose(position) }, h("kbd", null, key), ` ${text}`)),
    h("input", { type: "text", id: "note", placeholder: "Note", "aria-label": "Note", oninput: ({ target }) => { rowOf(saved.at).note = target.value; save(); } }));
}

// --- a row ----------------------------------------------------------------------------------------

// Sentences as the eye sees them: nothing depends on where they end.
const sentences = (text) => text.match(/[^.!?。！？\n]+[.!?。！？]*\s*|\s+|[.!?。！？]+/gu) ?? [];
const words = (text) => text.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’.,-]*[\p{L}\p{N}]|[\p{L}\p{N}]/gu) ?? [];
const isMarkable = (word) => word.length >= LEAST_SHARED || /\p{N}/u.test(word);

function text(value) {
  if (value === undefined) return null;
  if (typeof value === "string") return h("div", { class: "text", dir: "auto" }, value);
  return value.map((paragraph) => {
    if (!Array.isArray(paragraph)) return text(String(paragraph));
    const [role, content] = paragraph;
    return [h("h4", null, role), text(content)];
  });
}

function show() {
  const row = data.rows[saved.at], section = document.getElementById("row");
  const fields = [["Conversation", row.conversation], ["Query", row.query], ["Reference", row.reference], ["Profile", row.profile], ["Agent", row.agent_name], ["Answers", row.answers]];
  const response = h("div", { class: "text", dir: "auto", id: "response" }, sentences(row.response ?? "").map((sentence) =>
    h("span", { class: "sentence", onmouseenter: () => mark(sentence), onmouseleave: () => mark(null) }, sentence)));
  const documents = (row.context ?? []).map((source, place) => {
    const title = `${place + 1}${source.title ? ` · ${source.title}` : ""}${source.tool ? " · tool result" : ""}`;
    return h("div", { class: "document" }, h("p", { dir: "auto" }, title), h("div", { class: "text", dir: "auto", "data-place": place }, source.content ?? ""));
  });
  section.replaceChildren(
    h("h2", { id: "row-title" }, `Row ${saved.at + 1} of ${data.rows.length}`),
    h("div", { class: "sides" },
      h("div", null, fields.map(([name, value]) => value !== undefined && [h("h4", null, name), text(value)]), h("h4", null, "Response"), response),
      h("div", null, h("h4", null, plural(documents.length, "document")), h("div", { class: "documents", tabindex: 0, "aria-label": "Documents" }, documents))));
  document.getElementById("note").value = saved.rows[row.id]?.note ?? "";
  window.scrollTo(0, 0);
  progress();
}

function progress() {
  const nLabelled = labelled();
  document.getElementById("count").textContent =
    `${nLabelled} of ${plural(data.rows.length, "row")} labelled${timeLeft()}.${canSave ? "" : " This browser saves nothing: download your labels before you leave."}`;
  document.querySelectorAll(".progress button").forEach((button, at) => {
    button.classList.toggle("labelled", isLabelled(at));
    button.toggleAttribute("aria-current", at === saved.at);
  });
  const { label } = rowOf(saved.at);
  document.querySelectorAll("#choices button").forEach((button) => {
    button.setAttribute("aria-pressed", String(label !== undefined && data.choices[button.dataset.position].label === label));
  });
}

function mark(sentence) {
  const shared = new Set(saved.marks && sentence ? words(sentence.toLowerCase()).filter(isMarkable) : []);
  for (const element of document.querySelectorAll(".documents .text")) {
    const content = data.rows[saved.at].context[element.dataset.place].content ?? "";
    if (!shared.size) {
      if (element.childElementCount) element.replaceChildren(content);
      continue;
    }
    const pieces = [];
    let end = 0;
    for (const match of content.matchAll(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’.,-]*[\p{L}\p{N}]|[\p{L}\p{N}]/gu)) {
      const word = match[0];
      if (!shared.has(word.toLowerCase())) continue;
      pieces.push(content.slice(end, match.index), h("mark", { class: "shared" }, word));
      end = match.index + word.length;
    }
    element.replaceChildren(...pieces, content.slice(end));
  }
}

// --- what people do -------------------------------------------------------------------------------

function go(at) {
  clock();
  saved.at = Math.min(data.rows.length - 1, Math.max(0, at));
  save();
  show();
}

function choose(position) {
  clock();
  const row = rowOf(saved.at);
  saved.past.push(isLabelled(saved.at) ? [saved.at, row.label] : [saved.at]);
  row.label = data.choices[position].label;
  const after = data.rows.findIndex((_, at) => at > saved.at && !isLabelled(at));
  const open = after < 0 ? data.rows.findIndex((_, at) => !isLabelled(at)) : after;
  go(open < 0 ? saved.at : open);
}

function undo() {
  const last = saved.past.pop();
  if (!last) return;
  clock();
  const [at, ...before] = last;
  delete rowOf(at).label;
  if (before.length) rowOf(at).label = before[0];
  saved.at = at;
  save();
  show();
}

function download() {
  const url = URL.createObjectURL(new Blob([lines()], { type: "application/x-ndjson" }));
  h("a", { href: url, download: data.part > 1 ? `labels.${data.part}.jsonl` : "labels.jsonl" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.matches('input[type="text"]')) {
    if (event.key === "Escape" || event.key === "Enter") event.target.blur();
    return;
  }
  const position = data.choices.findIndex(({ key }) => key === event.key);
  const actions = { j: () => go(saved.at + 1), k: () => go(saved.at - 1), u: undo, n: () => document.getElementById("note").focus() };
  const action = position < 0 ? actions[event.key] : () => choose(position);
  if (!action) return;
  event.preventDefault();
  action();
});
window.addEventListener("storage", ({ key }) => { // another tab labels the same rows
  if (key !== STORAGE_KEY) return;
  restore();
  show();
});
window.addEventListener("pagehide", () => { clock(); save(); });

header();
choices();
saved.at = Math.min(saved.at, data.rows.length - 1);
show();
