"use strict";
// What was judged is put in as text nodes only: nothing here reads a text as HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const PER_PAGE = 50;
const SUPPORTED = 0.85, UNSUPPORTED = 0.5;
const FIGURES = [
  ["accuracy", "Accuracy"], ["balanced_accuracy", "Balanced accuracy"], ["precision", "Precision"],
  ["recall", "Recall"], ["f1", "F1"], ["kappa", "Cohen’s kappa"], ["roc_auc", "ROC AUC"], ["spearman", "Spearman"],
];
const WARNINGS = {
  evidence_not_found: "A quote stands nowhere in the context.",
  evidence_altered: "A quote’s numbers or negations differ from the context’s.",
  evidence_unchecked: "Quotes could not be looked up: the case was not there.",
  statement_missing: "Part of the response was not rated.",
  statement_not_in_response: "A rated sentence is not in the response.",
  several_verdicts: "The reply gave more than one verdict; the last counts.",
  weighted_sum_mismatch: "The stated sum was wrong and was computed anew.",
  formula_missing: "The reply gave a sum without its formula.",
  band_mismatch: "The reply’s level names another band than its score.",
  unclosed_tag: "The verdict’s tag was never closed.",
};

// --- making elements ---------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const s = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

let charts = 0;
function chart(width, height, title, description, ...shapes) {
  const id = `chart-${++charts}`;
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": `${id}-title ${id}-desc` },
    s("title", { id: `${id}-title` }, title), s("desc", { id: `${id}-desc` }, description), ...shapes);
}

// --- writing numbers ----------------------------------------------------------------------------

const whole = (number) => number.toLocaleString("en");
const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;
const decimals = (number, digits = 3) => (number === null || number === undefined ? "–" : number.toFixed(digits).replace("-", "−"));
const seconds = (time) => (time < 1 ? `${Math.round(time * 1000)} ms` : `${time.toFixed(time < 10 ? 1 : 0)} s`);
const many = (number, one, more = `${one}s`) => `${whole(number)} ${number === 1 ? one : more}`;
const readable = (code) => code.replaceAll("_", " ");
const breakable = (name) => name.split("_").flatMap((word, place) => (place ? ["_", h("wbr"), word] : [word]));
const nameOf = (judge) => judge.judge || "rows that could not be read";

// --- the head -----------------------------------------------------------------------------------

function head() {
  const judges = data.judges.filter((judge) => judge.judge).length;
  const cases = new Set(data.verdicts.map((verdict) => verdict.id)).size;
  const models = [...new Set(data.judges.flatMap((judge) => judge.models))];
  document.getElementById("top").append(
    h("p", { class: "eyebrow" }, "groundjudge report"),
    h("h1", null, data.title),
    h("p", { class: "lede" }, `${many(data.verdicts.length, "verdict")} on ${many(cases, "case")} by ${many(judges, "judge")}`,
      models.length ? `, asking ${models.join(", ")}` : "", ".",
      data.repeated ? ` ${many(data.repeated, "earlier verdict")} on a case that was judged again ${data.repeated === 1 ? "is" : "are"} left out.` : ""));
  document.getElementById("end").append(
    h("p", null, `Scores run from 0 to 1, and 1 is best. Made by groundjudge ${data.library}. Nothing on this page was fetched, and nothing leaves it.`));
}

// --- judges -------------------------------------------------------------------------------------

function judges() {
  const section = document.getElementById("judges");
  for (const judge of data.judges) {
    section.append(h("article", { class: "judge" }, who(judge), distribution(judge), outcomes(judge), facts(judge)));
  }
}

function who(judge) {
  const due = judge.n_ok + judge.n_error, errors = Object.entries(judge.errors);
  const bounds = judge.bounds && judge.n_error ? `; ${decimals(judge.bounds[0])} to ${decimals(judge.bounds[1])} if every error were a 0 or a 1` : "";
  const apart = [[judge.n_not_applicable, "not applicable"], [judge.n_missing, "without an input it needs"]].filter(([n]) => n);
  return h("div", { class: "who" }, h("h3", null, breakable(nameOf(judge))),
    h("div", { class: "mean" }, decimals(judge.mean)),
    h("p", null, judge.n_ok ? `mean of ${many(judge.n_ok, "score")}${bounds}` : "no scores"),
    h("p", { class: "small" }, due ? `Coverage ${percent(Math.floor(judge.coverage * 1000) / 1000)}, ` : "No row was due a score, ",
      errors.length ? h("span", { class: "is-bad" }, `${many(judge.n_error, "error")}: ${errors.map(([code, n]) => `${readable(code)} ${whole(n)}`).join(", ")}`) : "no errors",
      apart.map(([n, what]) => `; ${whole(n)} ${what}`)));
}

function distribution(judge) {
  const width = 340, height = 120, base = 100, bins = judge.histogram.length, step = width / bins;
  const most = Math.max(1, ...judge.histogram.map(([failed, passed]) => failed + passed));
  const top = judge.histogram.findIndex(([failed, passed]) => failed + passed === most);
  const bars = judge.histogram.flatMap(([failed, passed], place) => {
    const scale = (base - 14) / most, low = failed * scale, high = passed * scale;
    const told = `${decimals(place / bins, 2)} to ${decimals((place + 1) / bins, 2)}: ${passed} passed, ${failed} not`;
    return failed + passed === 0 ? [] : [s("g", null, s("title", null, told),
      s("rect", { class: "failed", x: place * step + 0.5, width: step - 1, y: base - low, height: low }),
      s("rect", { class: "passed", x: place * step + 0.5, width: step - 1, y: base - low - high, height: high }))];
  });
  const described = judge.histogram.map(([failed, passed], place) => [place, failed + passed]).filter(([, n]) => n)
    .map(([place, n]) => `${n} from ${decimals(place / bins, 2)}`).join(", ");
  const picture = chart(width, height, `Scores of ${nameOf(judge)}`, `Number of scores by twentieths: ${described || "none"}.`,
    bars, s("path", { class: "axis", d: `M0 ${base + 0.5}H${width}` }),
    [0, 0.5, 1].map((at) => s("text", { x: at * width, y: base + 15, "text-anchor": ["start", "middle", "end"][at * 2] }, String(at))),
    judge.n_ok ? s("text", { x: Math.min(width - 12, Math.max(12, (top + 0.5) * step)), y: 9, "text-anchor": "middle" }, whole(most)) : null);
  return h("figure", null, h("h4", null, "Scores"), picture,
    h("figcaption", null, judge.n_ok ? `${whole(judge.passed)} passed (${percent(judge.pass_rate)}), ${whole(judge.n_ok - judge.passed)} did not` : "no scores"));
}

// What came of the rows, as a bar and as a list: by label where scores have labels, else by passing.
function outcomes(judge) {
  const [scored, others] = [true, false].map((wanted) => judge.labels.filter((label) => (label.mean !== null) === wanted));
  const sum = (labels) => labels.reduce((total, label) => total + label.n, 0);
  const shares = scored.length
    ? [...scored.map((label) => [readable(label.name), label.n, `tone${Math.round(label.mean * 4)}`]), ["no label", judge.n_ok - sum(scored), "tone-none"]]
    : [["not passed", judge.n_ok - judge.passed, "tone0"], ["passed", judge.passed, "tone4"]];
  shares.push(...others.map((label) => [readable(label.name), label.n, "tone-none"]));
  shares.push(["not applicable", judge.n_not_applicable - sum(others), "tone-none"], ["missing input", judge.n_missing, "tone-none"]);
  shares.push(...Object.entries(judge.errors).map(([code, n]) => [`error: ${readable(code)}`, n, "tone-error"]));
  const shown = shares.filter(([, n]) => n > 0), total = shown.reduce((sum, [, n]) => sum + n, 0);
  const bar = h("div", { class: "shares", "aria-hidden": "true" }, shown.map(([name, n, tone]) => {
    const part = h("i", { class: tone, title: `${name}: ${n}` });
    part.style.flexGrow = n;
    return part;
  }));
  return h("div", null, h("h4", null, scored.length ? "Labels" : "Outcomes"), bar,
    h("ul", { class: "legend" }, shown.map(([name, n, tone]) =>
      h("li", null, h("i", { class: tone, "aria-hidden": "true" }), h("span", null, name), h("b", null, `${whole(n)} · ${percent(n / total)}`)))));
}

function facts(judge) {
  const told = [
    ["Tokens", judge.tokens ? `${whole(judge.tokens[0])} in, ${whole(judge.tokens[1])} out` : "not reported"],
    ...(judge.tokens ? [["Tokens a verdict", whole(Math.round((judge.tokens[0] + judge.tokens[1]) / judge.n_with_tokens))]] : []),
    ["Calls", whole(judge.calls)],
    ["Latency", judge.latency ? `${seconds(judge.latency[0])}; 95 % within ${seconds(judge.latency[1])}` : "no call was made"],
    ["Model", judge.models.join(", ") || "–"],
    ["Prompt", judge.prompts.join(", ") || "–"],
  ];
  return h("dl", { class: "facts" }, told.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

// --- agreement ----------------------------------------------------------------------------------

function agreement() {
  const section = document.getElementById("agreement");
  const measured = data.judges.filter((judge) => judge.agreement && judge.agreement.n);
  section.hidden = measured.length === 0;
  for (const judge of measured) {
    const found = judge.agreement;
    section.append(h("article", { class: "agreement" }, h("h3", null, breakable(nameOf(judge))), h("p", { class: "lede" }, counted(found)), h("div", null, figures(found), confusion(found)),
      h("div", { class: "charts" }, roc(judge, found), reliability(judge, found))));
  }
}

function counted(found) {
  const apart = [
    [found.n_unlabelled, "without a label"], [found.n_error, "with an error"], [found.n_not_applicable, "with nothing to judge"],
    [found.n_missing, "without an input that it needs"], [found.n_unjudged, "labelled, but not judged"],
  ].filter(([n]) => n).map(([n, what]) => `${whole(n)} ${what}`);
  const groups = found.n_groups < found.n ? ` in ${many(found.n_groups, "group")}` : "";
  return `${many(found.n, "row")}${groups} with a score and a label${apart.length ? `; not among them ${apart.join(", ")}` : ""}. `
    + (found.base_rate === null ? "" : `People called ${percent(found.base_rate)} grounded; grounded counts as positive. `)
    + (found.threshold === null ? "Passed as in the run." : `Passed from ${found.threshold} on.`);
}

function figures(found) {
  const rows = FIGURES.filter(([key]) => found.figures[key].value !== null || key !== "spearman").map(([key, name]) => {
    const figure = found.figures[key], guess = found.guess[key];
    if (figure.value === null) {
      return h("tr", null, h("th", { scope: "row" }, name), h("td", { colspan: 4, class: "quiet small" }, `undefined: ${found.undefined[key]}`));
    }
    const interval = figure.low === null ? "no interval" : `${decimals(figure.low)} to ${decimals(figure.high)}`;
    return h("tr", null, h("th", { scope: "row" }, name), h("td", { class: "number" }, decimals(figure.value)),
      h("td", { class: "number quiet" }, interval), h("td", { class: "number quiet" }, guess === undefined ? "" : decimals(guess)), h("td", { class: "plot" }, whisker(figure, guess)));
  });
  return h("table", { class: "figures" }, h("caption", { class: "unseen" }, "Figures of agreement with 95 % intervals"),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Figure"), h("th", { scope: "col", class: "number" }, ""),
      h("th", { scope: "col", class: "number" }, "95 % interval"), h("th", { scope: "col", class: "number" }, "Guessing"), h("th", { scope: "col" }, h("span", { class: "unseen" }, "drawn from 0 to 1")))),
    h("tbody", null, rows));
}

function whisker(figure, guess) {
  const at = (value) => 4 + 192 * Math.min(1, Math.max(0, value));
  return s("svg", { viewBox: "0 0 200 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("path", { class: "axis", d: "M4 8H196" }),
    guess === undefined ? null : s("path", { class: "chance", d: `M${at(guess)} 1V15` }),
    figure.low === null ? null : s("path", { class: "whisker", d: `M${at(figure.low)} 8H${at(figure.high)}` }),
    s("ellipse", { class: "dot", cx: at(figure.value), cy: 8, rx: 4, ry: 4 }));
}

const SIDE = 200;
const x = (share) => 38 + share * (SIDE - 44);
const y = (share) => SIDE - 30 - share * (SIDE - 36);

function square(across, up) {
  return [
    s("path", { class: "axis", d: `M${x(0)} ${y(1)}V${y(0)}H${x(1)}` }), s("path", { class: "chance", d: `M${x(0)} ${y(0)}L${x(1)} ${y(1)}` }),
    [0, 0.5, 1].map((at) => s("text", { x: x(at), y: y(0) + 13, "text-anchor": "middle" }, String(at))),
    [0.5, 1].map((at) => s("text", { x: x(0) - 5, y: y(at) + 4, "text-anchor": "end" }, String(at))),
    s("text", { x: x(0.5), y: y(0) + 27, "text-anchor": "middle" }, across),
    s("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(8 ${y(0.5)}) rotate(-90)` }, up),
  ];
}

function roc(judge, found) {
  if (!found.curves.roc.length) return null;
  const table = found.confusion, auc = found.figures.roc_auc.value;
  const falseRate = table.false_positives / (table.false_positives + table.true_negatives), trueRate = table.true_positives / (table.true_positives + table.false_negatives);
  const described = `Area ${decimals(auc)}. At the threshold ${percent(trueRate)} of the grounded and ${percent(falseRate)} of the other responses pass.`;
  return h("figure", null, h("h4", null, "ROC"), chart(SIDE, SIDE, `ROC curve of ${nameOf(judge)}`, described, square("not grounded, passed", "grounded, passed"),
    s("path", { class: "line", d: found.curves.roc.map(([a, b], place) => `${place ? "L" : "M"}${x(a)} ${y(b)}`).join("") }),
    s("circle", { class: "ring", cx: x(falseRate), cy: y(trueRate), r: 4.5 })),
  h("figcaption", null, `Area ${decimals(auc)}; the ring is the threshold`));
}

function reliability(judge, found) {
  const bins = found.curves.bins;
  if (!bins.length) return null;
  const most = Math.max(...bins.map((bin) => bin.n));
  const described = bins.map((bin) => `score ${decimals(bin.mean_score, 2)}: ${percent(bin.share_grounded)} of ${bin.n} grounded`).join("; ");
  return h("figure", null, h("h4", null, "Calibration"), chart(SIDE, SIDE, `Calibration of ${nameOf(judge)}`, `${described}.`, square("score", "share grounded"),
    s("path", { class: "line", d: bins.map((bin, place) => `${place ? "L" : "M"}${x(bin.mean_score)} ${y(bin.share_grounded)}`).join("") }),
    bins.map((bin) => s("circle", { class: "dot", cx: x(bin.mean_score), cy: y(bin.share_grounded), r: 2 + 5 * Math.sqrt(bin.n / most) },
      s("title", null, `score ${decimals(bin.mean_score, 2)}: ${percent(bin.share_grounded)} of ${bin.n} grounded`)))),
  h("figcaption", null, "Grounded responses by score, area by number"));
}

function confusion(found) {
  const table = found.confusion;
  if (!table) return null;
  const cell = (n, right) => h("td", { class: right ? "right" : "wrong" }, whole(n));
  return h("div", null, h("h4", null, "People against judge"), h("table", { class: "confusion" }, h("caption", { class: "unseen" }, "What people said against what the judge did"),
    h("thead", null, h("tr", null, h("td"), h("th", { scope: "col" }, "passed"), h("th", { scope: "col" }, "not passed"))),
    h("tbody", null, h("tr", null, h("th", { scope: "row" }, "grounded"), cell(table.true_positives, true), cell(table.false_negatives, false)),
      h("tr", null, h("th", { scope: "row" }, "not grounded"), cell(table.false_positives, false), cell(table.true_negatives, true)))));
}

// --- the table ----------------------------------------------------------------------------------

const rows = data.verdicts;
const withPeople = rows.some((row) => row.person !== undefined);
const withTokens = rows.some((row) => row.tokens);
const judgeOf = (row) => data.judges[row.judge];
const caseOf = (row) => (row.case === undefined ? undefined : data.cases[row.case]);
const outcomeOf = (row) => (row.status === "error" ? "error" : row.status === "not_applicable" ? "not applicable" : row.passed ? "passed" : "not passed");
const labelOf = (row) => (row.error ? readable(row.error[0]) : row.label ? readable(row.label) : outcomeOf(row));
const reasonOf = (row) => row.error?.[1] ?? row.reason ?? (row.parts ?? []).filter((part) => part.score < SUPPORTED).map((part) => part.name).join(" · ");

const COLUMNS = [
  { key: "case", name: "Case", of: (row) => row.id ?? "" },
  { key: "judge", name: "Judge", of: (row) => nameOf(judgeOf(row)) },
  { key: "score", name: "Score", of: (row) => row.score, number: true },
  { key: "label", name: "Label", of: labelOf },
  ...(withPeople ? [{ key: "person", name: "People", of: (row) => row.person, number: true }] : []),
  { key: "warnings", name: "Warnings", of: (row) => (row.warnings ?? []).join(" ") || null },
  { key: "reason", name: "Reason", of: reasonOf },
  ...(withTokens ? [{ key: "tokens", name: "Tokens", of: (row) => (row.tokens ? row.tokens[0] + row.tokens[1] : null), number: true }] : []),
  { key: "seconds", name: "Time", of: (row) => (row.attempts ? row.latency : null), number: true },
];

const state = { text: "", judge: "", label: "", warning: "", people: "", sort: null, down: false, page: 0 };
let found = rows.map((_, place) => place);
let texts = null; // what is searched in, made at the first search

function textOf(row) {
  const given = caseOf(row);
  const flat = (value) => (Array.isArray(value) ? value.map(flat).join(" ") : value ?? "");
  return [row.id, row.reason, row.label, row.error?.join(" "), (row.parts ?? []).map((part) => `${part.name} ${part.reason ?? ""}`).join(" "),
    given && [flat(given.query), given.response, flat(given.conversation), flat(given.reference)].join(" ")].join(" ").toLocaleLowerCase();
}

function matches(row, place, words) {
  return (state.judge === "" || row.judge === Number(state.judge))
    && (state.label === "" || state.label === `o:${outcomeOf(row)}` || state.label === `l:${row.label}` || state.label === `e:${row.error?.[0]}`)
    && (state.warning === "" || (state.warning === "any" ? Boolean(row.warnings) : (row.warnings ?? []).includes(state.warning)))
    && (state.people === "" || (state.people === "none" ? row.person === undefined : row.person !== undefined && row.score !== undefined && Boolean(row.differs) === (state.people === "differ")))
    && words.every((word) => texts[place].includes(word));
}

function select() {
  const words = state.text.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) texts ??= rows.map(textOf);
  found = rows.map((_, place) => place).filter((place) => matches(rows[place], place, words));
  if (state.sort) {
    const column = COLUMNS.find((one) => one.key === state.sort), sign = state.down ? -1 : 1;
    const keys = rows.map(column.of), none = (key) => key === null || key === undefined || key === "";
    found.sort((a, b) => none(keys[a]) - none(keys[b]) // what has no value comes last, whichever way
      || sign * (column.number ? keys[a] - keys[b] || 0 : String(keys[a]).localeCompare(String(keys[b]), "en", { numeric: true })) || a - b);
  }
  state.page = 0;
  draw();
}

const counts = (values) => [...values.reduce((map, value) => map.set(value, (map.get(value) ?? 0) + 1), new Map())].sort((a, b) => b[1] - a[1]);

function table() {
  const option = (value, name, n) => h("option", { value }, n === undefined ? name : `${name} (${whole(n)})`);
  const labels = [
    option("", "all"),
    h("optgroup", { label: "Outcome" }, counts(rows.map(outcomeOf)).map(([name, n]) => option(`o:${name}`, name, n))),
    h("optgroup", { label: "Label" }, counts(rows.filter((row) => row.label).map((row) => row.label)).map(([name, n]) => option(`l:${name}`, readable(name), n))),
    h("optgroup", { label: "Error" }, counts(rows.filter((row) => row.error).map((row) => row.error[0])).map(([name, n]) => option(`e:${name}`, readable(name), n))),
  ].filter((one) => one.tagName === "OPTION" || one.children.length);
  const warnings = counts(rows.flatMap((row) => row.warnings ?? []));
  const filter = (name, key, ...options) => h("label", null, name, h("select", { id: `by-${key}`, onchange: (event) => { state[key] = event.target.value; select(); } }, ...options));
  let waiting = 0;
  const search = h("input", { id: "by-text", type: "search", autocomplete: "off", spellcheck: "false", "aria-keyshortcuts": "/",
    oninput: (event) => { state.text = event.target.value; clearTimeout(waiting); waiting = setTimeout(select, 120); } });
  document.getElementById("verdicts").append(
    h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      h("label", null, "Text in case, reason, query or response", search),
      filter("Judge", "judge", option("", "all"), data.judges.map((judge, place) => option(place, nameOf(judge), judge.n_ok + judge.n_error + judge.n_not_applicable + judge.n_missing))),
      filter("Label", "label", labels),
      filter("Warning", "warning", option("", "all"), warnings.length ? option("any", "any", rows.filter((row) => row.warnings).length) : null, warnings.map(([name, n]) => option(name, readable(name), n))),
      withPeople ? filter("People", "people", option("", "all"), option("differ", "disagree", rows.filter((row) => row.differs).length), option("agree", "agree"), option("none", "said nothing")) : null),
    h("div", { class: "count" }, h("span", { id: "count", role: "status" }), h("span", null, h("button", { class: "plain", type: "button", id: "clear", onclick: clear }, "Show all rows"))),
    h("table", { class: "rows", role: "table" }, h("caption", { class: "unseen" }, "Verdicts. A row’s first cell opens it."),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, COLUMNS.map((column) => h("th", { scope: "col", role: "columnheader", class: `c-${column.key}${column.number ? " number" : ""}` },
        h("button", { type: "button", onclick: () => sort(column) }, column.name))))),
      h("tbody", { id: "body", role: "rowgroup" })),
    h("nav", { class: "pages", "aria-label": "Pages of the table", id: "pages" }));
  select();
}

function clear() {
  Object.assign(state, { text: "", judge: "", label: "", warning: "", people: "" });
  for (const field of document.querySelectorAll(".filters input, .filters select")) field.value = "";
  select();
}

function sort(column) {
  state.down = state.sort === column.key ? !state.down : false;
  state.sort = column.key;
  document.querySelectorAll(".rows th").forEach((head, place) => {
    if (COLUMNS[place] === column) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  select();
}

function draw() {
  const first = state.page * PER_PAGE, last = Math.min(found.length, first + PER_PAGE), pages = Math.ceil(found.length / PER_PAGE);
  document.getElementById("body").replaceChildren(...found.slice(first, last).map(line));
  document.getElementById("count").textContent = found.length === rows.length
    ? many(rows.length, "verdict") : `${whole(found.length)} of ${many(rows.length, "verdict")}`;
  document.getElementById("clear").hidden = found.length === rows.length;
  const turn = (name, page) => h("button", { type: "button", disabled: page < 0 || page >= pages || page === state.page, onclick: () => {
    state.page = page;
    draw();
    document.getElementById("verdicts").scrollIntoView();
  } }, name);
  document.getElementById("pages").replaceChildren(...(pages > 1
    ? [turn("First", 0), turn("Previous", state.page - 1), h("span", null, `${whole(first + 1)}–${whole(last)} of ${whole(found.length)}`), turn("Next", state.page + 1), turn("Last", pages - 1)]
    : []));
}

function scoreBar(row) {
  const inside = h("i", { class: row.passed ? "" : "below" });
  inside.style.width = `${100 * row.score}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, inside);
}

const tone = (row) => ({ passed: "is-good", "not passed": "is-bad", error: "is-bad", "not applicable": "quiet" })[outcomeOf(row)];

const CELLS = {
  case: (row, place) => h("td", { class: "c-case" }, h("button", { class: "open", type: "button", "data-row": place, title: row.id ?? "" }, row.id ?? "no id")),
  judge: (row) => h("td", { class: "c-judge" }, breakable(nameOf(judgeOf(row)))),
  score: (row) => h("td", { class: "c-score number" }, row.score === undefined ? "–" : [decimals(row.score), scoreBar(row)]),
  label: (row) => h("td", { class: `c-label ${tone(row)}` }, labelOf(row)),
  person: (row) => h("td", { class: `c-person number ${row.differs ? "is-bad" : ""}` }, row.person === undefined ? "" : [String(Number(row.person.toFixed(3))), row.differs ? " ≠" : ""]),
  warnings: (row) => h("td", { class: "c-warnings" }, (row.warnings ?? []).map(readable).join(", ")),
  reason: (row) => h("td", { class: "c-reason" }, h("span", { class: "clip", dir: "auto" }, reasonOf(row).slice(0, 400))),
  tokens: (row) => h("td", { class: "c-tokens number" }, row.tokens ? whole(row.tokens[0] + row.tokens[1]) : ""),
  seconds: (row) => h("td", { class: "c-seconds number" }, row.attempts ? seconds(row.latency) : ""),
};

// On a narrow screen the table is laid out as a list: its roles are said, so that it stays a table.
const line = (place) => h("tr", { "data-row": place, role: "row" }, COLUMNS.map((column) => fill(CELLS[column.key](rows[place], place), { role: "cell" }, [])));

// --- one verdict --------------------------------------------------------------------------------

const dialog = document.getElementById("row");
let shown = -1;

function open(place) {
  const held = dialog.contains(document.activeElement) ? document.activeElement.id : "";
  shown = place;
  const row = rows[place], at = found.indexOf(place);
  const step = (name, to, shortcut) => h("button", { type: "button", class: "tool", id: `to-${name.toLowerCase()}`, disabled: to === undefined || at < 0, "aria-keyshortcuts": shortcut, onclick: () => open(to) }, name);
  dialog.replaceChildren(
    h("div", { class: "bar-top" }, h("p", null, at < 0 ? "" : `${whole(at + 1)} of ${whole(found.length)}`),
      step("Previous", found[at - 1], "ArrowLeft"), step("Next", found[at + 1], "ArrowRight"),
      h("button", { type: "button", class: "tool", id: "close", onclick: () => dialog.close() }, "Close")),
    h("div", { class: "inside" }, inside(row, place)));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  const button = held && document.getElementById(held);
  (button && !button.disabled ? button : document.getElementById("row-title")).focus({ preventScroll: true });
}

function inside(row, place) {
  const given = caseOf(row), others = rows.map((one, at) => [one, at]).filter(([one, at]) => at !== place && row.id !== undefined && one.id === row.id);
  return [
    h("h3", { id: "row-title", tabindex: -1 }, row.id ?? "A case without an id"), h("p", { class: "quiet" }, nameOf(judgeOf(row))),
    h("div", { class: "outcome" }, outcome(row).map(([name, value, look]) => h("div", null, h("span", null, name), h("div", { class: look }, value)))),
    row.error ? [h("h4", null, `Error: ${readable(row.error[0])}`), h("p", { class: "text" }, row.error[1])] : null,
    row.warnings ? [h("h4", null, "Warnings"), row.warnings.map((code) => h("p", null, h("b", null, readable(code)), WARNINGS[code] ? ` — ${WARNINGS[code]}` : ""))] : null,
    row.reason ? [h("h4", null, "Reason"), h("p", { class: "text", dir: "auto", id: "reason" }, row.reason)] : null,
    row.parts ? parts(row, given) : null,
    row.reply ? [h("h4", null, "Raw reply"), h("p", { class: "text raw", dir: "auto" }, row.reply)] : null,
    others.length ? [h("h4", null, "Other verdicts on this case"), h("ul", { class: "others" }, others.map(([one, at]) =>
      h("li", null, h("button", { type: "button", class: "plain", onclick: () => open(at) }, nameOf(judgeOf(one))), " ", one.score === undefined ? labelOf(one) : decimals(one.score))))] : null,
    given ? material(row, given) : h("p", { class: "quiet" }, "The case itself is not on this page: make the report with --cases to read it here."),
    h("details", null, h("summary", null, "How to get this score again"), h("p", { class: "small" }, data.signatures[row.signature]),
      h("p", { class: "small quiet" }, [row.attempts ? `${many(row.attempts, "call")} in ${seconds(row.latency)}` : "no call was made", row.tokens ? `, ${whole(row.tokens[0])} tokens in, ${whole(row.tokens[1])} out` : ""].join(""))),
  ];
}

function outcome(row) {
  const told = [["Score", decimals(row.score), "mean"], ["Outcome", outcomeOf(row), tone(row)]];
  if (row.value !== undefined) told.push(["Value on the judge’s scale", String(Number(row.value.toFixed(4))), ""]);
  if (row.label) told.push(["Label", readable(row.label), ""]);
  if (row.person !== undefined) told.push(["People", `${Number(row.person.toFixed(3))}${row.differs ? " ≠ judge" : ""}`, row.differs ? "is-bad" : ""]);
  return told;
}

// A sentence of the response, or an aspect of it, each with its score and what was quoted for it.
function parts(row, given) {
  return [h("h4", null, "Part by part"), h("ul", { class: "parts" }, row.parts.map((part, number) => {
    const light = (on) => dialog.querySelectorAll(`mark[data-parts~="${number}"]`).forEach((mark) => mark.classList.toggle("on", on));
    const quotes = part.evidence ?? [];
    const jump = given?.context && quotes.length ? h("button", { type: "button", class: "plain small", onclick: () => {
      const mark = dialog.querySelector(`mark.quote[data-parts~="${number}"]`);
      mark?.scrollIntoView({ block: "center" });
    } }, many(quotes.length, "quote")) : h("span", { class: "small quiet" }, quotes.length ? many(quotes.length, "quote") : "");
    const told = [part.reason, ...quotes.filter((quote) => quote.quote).map((quote) => `${quote.near ? "nearly: " : ""}“${quote.quote}”`)].filter(Boolean).join("\n");
    return h("li", { onmouseenter: () => light(true), onmouseleave: () => light(false), onfocusin: () => light(true), onfocusout: () => light(false) },
      h("span", { class: `score ${part.score < UNSUPPORTED ? "is-bad" : part.score < SUPPORTED ? "is-fair" : "is-good"}` }, String(Number(part.value.toFixed(2)))),
      h("p", { dir: "auto" }, part.name), jump, told ? h("p", { class: "why", dir: "auto" }, told) : null);
  }))];
}

function material(row, given) {
  const sentences = (row.parts ?? []).flatMap((part, number) => (part.at ?? []).map(([start, end]) => ({ start, end, number,
    look: part.score < UNSUPPORTED ? "unsupported" : part.score < SUPPORTED ? "partly" : "supported", told: `rated ${Number(part.value.toFixed(2))}` })));
  const quotes = (row.parts ?? []).flatMap((part, number) => (part.evidence ?? []).map((quote) => ({ document: quote.at[0], start: quote.at[1], end: quote.at[2], number,
    look: quote.near ? "quote near" : "quote", told: quote.near ? "quoted, nearly word for word" : "quoted" })));
  const key = [
    sentences.some((one) => one.look === "unsupported") ? h("span", null, h("mark", { class: "unsupported" }, "unsupported")) : null,
    sentences.some((one) => one.look === "partly") ? h("span", null, h("mark", { class: "partly" }, "partly supported")) : null,
    quotes.length ? h("span", null, h("mark", { class: "quote" }, "quoted as evidence")) : null,
  ].filter(Boolean);
  const field = (name, value) => (value === undefined ? null : [h("h4", null, name), spoken(value)]);
  return h("div", { class: "sides" },
    h("div", null, field("Query", given.query), h("h4", null, "Response"), key.length ? h("p", { class: "key" }, key) : null,
      given.response === undefined ? h("p", { class: "quiet" }, "empty") : h("p", { class: "text", dir: "auto", id: "response" }, marked(given.response, sentences)),
      field("Reference", given.reference), field("Real answers", given.answers)),
    h("div", null, given.context === undefined ? null : [h("h4", null, "Context"), given.context.length === 0 ? h("p", { class: "quiet" }, "empty") : given.context.map((one, number) =>
      h("div", { class: "document", "data-document": number }, h("p", null, `Document ${number + 1}`, one.title ? ` · ${one.title}` : "", one.tool ? " · tool result" : ""),
        h("p", { class: "text", dir: "auto" }, marked(one.content ?? "", quotes.filter((quote) => quote.document === number)))))],
    field("Conversation", given.conversation), field(given.agent_name ? `Profile of ${given.agent_name}` : "Profile", given.profile)));
}

// A text, a list of texts, or chat messages as [role, text].
function spoken(value) {
  if (!Array.isArray(value)) return h("p", { class: "text", dir: "auto" }, value);
  return value.map((one) => (Array.isArray(one)
    ? h("div", { class: "document" }, h("p", null, one[0]), h("p", { class: "text", dir: "auto" }, one[1])) : h("p", { class: "text", dir: "auto" }, one)));
}

// A text with spans marked. Offsets count characters as Python does; spans may overlap.
function marked(text, spans) {
  if (!spans.length) return text;
  const characters = Array.from(text);
  const cuts = [...new Set([0, characters.length, ...spans.flatMap((span) => [span.start, span.end])])].filter((cut) => cut <= characters.length).sort((a, b) => a - b);
  return cuts.slice(1).map((end, place) => {
    const start = cuts[place], piece = characters.slice(start, end).join("");
    const over = spans.filter((span) => span.start <= start && end <= span.end);
    if (!over.length) return piece;
    const looks = [...new Set(over.flatMap((span) => span.look.split(" ")))].join(" ");
    return h("mark", { class: looks, title: over[0].told, "data-parts": [...new Set(over.map((span) => span.number))].join(" "), "data-start": start, "data-end": end }, piece);
  });
}

// --- hands on -----------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const row = event.target.closest("tbody#body tr");
  if (row && getSelection().isCollapsed) open(Number(row.dataset.row));
  if (event.target === dialog) dialog.close(); // the backdrop
});

dialog.addEventListener("close", () => {
  document.querySelector(`.open[data-row="${shown}"]`)?.focus();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (dialog.open) {
    const to = { ArrowLeft: -1, ArrowRight: 1 }[event.key], at = found.indexOf(shown);
    if (to && at >= 0 && found[at + to] !== undefined) open(found[at + to]);
    return;
  }
  const typing = event.target.closest("input, select");
  if (event.key === "/" && !typing) {
    event.preventDefault();
    document.getElementById("by-text").focus();
  }
  if (event.target.classList.contains("open") && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    const row = event.target.closest("tr"), next = event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
    next?.querySelector(".open").focus();
    event.preventDefault();
  }
});

head();
judges();
agreement();
table();
document.documentElement.dataset.ready = "yes";
