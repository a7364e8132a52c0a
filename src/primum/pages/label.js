// One row at a time, until the question is settled: see label.py. The bounds are in settle.js.
const task = JSON.parse(document.getElementById("task").textContent);
const UNDECIDED = "?";
const at = (id) => document.getElementById(id);
const written = (number) => number.toLocaleString("en");
// What is not certain is never shown as 100 or 0.
const percent = (probability) => {
  let digits = 1;
  const rounded = () => Number((100 * probability).toFixed(digits));
  while (probability > 0 && probability < 1 && digits < 15 && [0, 100].includes(rounded())) digits += 1;
  return rounded().toLocaleString("en", { maximumFractionDigits: digits });
};
const counted = (number, what) => `${written(number)} ${what}${number === 1 ? "" : "s"}`;
const create = (tag, ...content) => {
  const element = document.createElement(tag);
  element.append(...content);
  return element;
};
const say = (text) => {
  at("said").textContent = text;
  at("refused").textContent = "";
};

// ---- Answers: for every row its label, "?" or null; `past` has what undo restores.
const STORE = `primum.labels.${task.key}`;
const nothing = () => ({ answers: task.rows.map(() => null), past: [], shortcuts: true });
// Labels that were read from a sheet are shown where this browser has no answer of its own.
const withRead = (saved) => ({
  ...saved, answers: saved.answers.map((own, row) => own ?? task.answers[row] ?? null),
});
const isAnswer = (value) => value === null || value === UNDECIDED || task.classes.includes(value);
const isSaved = (saved) => Array.isArray(saved?.answers) && Array.isArray(saved.past)
  && saved.answers.length === task.rows.length && saved.answers.every(isAnswer)
  && saved.past.every((one) => Array.isArray(one) && one[0] in saved.answers && isAnswer(one[1]))
  && typeof saved.shortcuts === "boolean";

let state = nothing();
let place = 0;
let storage = null; // why the browser stores nothing, as a sentence; null if it does
let isDownloaded = true;

const readSaved = (text) => {
  if (text === null) return withRead(nothing());
  try {
    const saved = JSON.parse(text);
    if (isSaved(saved)) return withRead(saved);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  storage = "What this browser stored for this page cannot be read: it was left as it is.";
  return withRead(nothing());
};
const load = () => {
  try {
    return localStorage.getItem(STORE);
  } catch {
    storage = "This browser stores nothing for this page.";
    return null;
  }
};
const save = () => {
  isDownloaded = false;
  if (storage) return;
  try {
    localStorage.setItem(STORE, JSON.stringify(state));
  } catch {
    storage = "This browser can store nothing more for this page.";
    showStorage();
  }
};
const showStorage = () => {
  if (!storage) return;
  const text = `${storage} Download the sheet before you close the page.`;
  const alert = create("div", create("p", create("b", "Warning:"), ` ${text}`));
  alert.className = "alert";
  alert.setAttribute("role", "alert");
  at("news").before(alert);
};

const nextWithout = (row) => {
  const later = state.answers.indexOf(null, row + 1);
  return later >= 0 ? later : state.answers.indexOf(null);
};
const answer = (value) => {
  const row = place;
  state.past.push([row, state.answers[row]]);
  state.answers[row] = value;
  save();
  const next = nextWithout(row);
  show(next < 0 ? row : next);
  const given = value === UNDECIDED ? "Undecided" : value;
  say(next < 0 ? `${given}. Every row has an answer.`
    : `${given}. ${at("counts").firstChild.data}. ${title(place)}.`);
  judgeSoon();
};
const undo = () => {
  const last = state.past.pop();
  if (!last) return say("There is nothing to undo.");
  [place, state.answers[last[0]]] = last;
  save();
  show(place);
  say(`Undone. ${title(place)}.`);
  judgeSoon();
};
const go = (row) => {
  if (row < 0 || row >= task.rows.length) return;
  show(row);
  say(`${title(row)}.`);
};

// ---- The card. Its layout depends on the columns only, so that every value keeps its place.
const LONG = 48;
const FEW = 12;
const title = (row) => `Row ${written(row + 1)} of ${written(task.rows.length)}`;
const isLong = (column) => task.rows.some(
  ({ [column]: text }) => text.length > LONG || text.includes("\n"));
const values = task.shown.map((column) => {
  const value = create("dd");
  const group = create("div", create("dt", task.header[column]), value);
  group.classList.toggle("long", isLong(column));
  return [column, value, group];
});
const option = (row) => {
  const given = state.answers[row];
  return `${row + 1}${given === null ? "" : given === UNDECIDED ? " · cannot say" : ` · ${given}`}`;
};
const show = (row) => {
  const before = at("rows").options[place];
  if (before) before.text = option(place);
  place = row;
  at("row").textContent = title(row);
  for (const [column, value] of values) {
    const text = task.rows[row][column];
    value.textContent = text || "empty";
    value.classList.toggle("empty", !text);
  }
  at("values").scrollTop = 0;
  at("rows").value = String(row);
  at("rows").options[row].text = option(row);
  // A disabled button would lose the focus.
  at("previous").setAttribute("aria-disabled", String(row === 0));
  at("next").setAttribute("aria-disabled", String(row === task.rows.length - 1));
  at("undo").setAttribute("aria-disabled", String(!state.past.length));
  for (const button of [...classButtons, at("undecided")]) {
    button.setAttribute("aria-pressed", String(button.value === state.answers[row]));
  }
  showCounts();
};
const showCounts = () => {
  const last = state.answers.findLastIndex((given) => given !== null);
  const undecided = state.answers.filter((given) => given === UNDECIDED).length;
  const given = state.answers.filter((given) => given !== null).length;
  const skipped = last + 1 - given;
  at("progress").value = given;
  at("counts").firstChild.data = [
    `${written(given - undecided)} of ${counted(task.rows.length, "row")} labelled`,
    undecided ? `${written(undecided)} undecided` : "",
    skipped ? `${written(skipped)} skipped` : "",
  ].filter(Boolean).join(" · ");
};

// ---- Classes: a key for each, or a list to search if there are many. Classes of one character are
// their own keys. Other classes have keys by position, none of which is written like a class or
// begins a number that is one: whoever types what is right must not record something else.
const MOST_KEYS = 12;
const isOwnKey = (label) => /^[^\s\p{C}\p{M}]$/u.test(label);
const isLike = (key) => (label) => label.toLowerCase() === key || (/\d/.test(key) && label.startsWith(key));
const byPosition = () => [..."123456789abcdefghijklmnopqrstvwxyz"].filter(
  (key) => !task.classes.some(isLike(key)));
const KEYS = task.classes.every(isOwnKey) ? [...task.classes] : byPosition().slice(0, MOST_KEYS);
const isSearched = task.classes.length > KEYS.length;
// The class of a key; capitals matter only if they tell classes apart.
const classOf = (key) => {
  if (isSearched) return undefined;
  const keys = KEYS.slice(0, task.classes.length);
  const alike = keys.filter((one) => one.toLowerCase() === key.toLowerCase());
  return task.classes[keys.indexOf(alike.length === 1 ? alike[0] : key)];
};
const undoKey = classOf("u") === undefined ? "u" : "Backspace";
const classButtons = task.classes.map((label, k) => {
  const button = create("button", create("span", label));
  button.type = "button";
  button.value = label;
  if (!isSearched) {
    button.prepend(create("kbd", KEYS[k]));
    button.setAttribute("aria-keyshortcuts", KEYS[k]);
  }
  button.addEventListener("click", () => byButton(() => answer(label)));
  return button;
});
// The card gets the focus, because it is read next, and so that keys scroll it.
const byButton = (act) => {
  act();
  at("values").focus();
};
const found = () => {
  const wanted = at("filter").value.trim().toLowerCase();
  const begins = (button) => button.value.toLowerCase().startsWith(wanted);
  const matches = classButtons.filter((button) => button.value.toLowerCase().includes(wanted));
  return [...matches.filter(begins), ...matches.filter((button) => !begins(button))];
};
const search = () => {
  const matches = found();
  at("classes").replaceChildren(...matches);
  const first = at("filter").value.trim() && matches.length ? `, Enter: ${matches[0].value}` : "";
  at("found").textContent = `${written(matches.length)} of ${task.classes.length} classes${first}`;
  classButtons.forEach((button) => button.classList.toggle("first", first && button === matches[0]));
};
const searchKey = (event) => {
  const { value } = at("filter");
  const act = { "?": () => answer(UNDECIDED), Backspace: undo }[event.key];
  if (!value && act) {
    event.preventDefault();
    act();
  } else if (event.key === "Enter" && value.trim() && found().length) {
    event.preventDefault();
    answer(found()[0].value);
    at("filter").value = "";
    search();
  }
};

// ---- What the labels say.
const outcomeOf = (code, given, unsaid) => {
  if (given === null) return UNKNOWN;
  if (given === UNDECIDED) return unsaid;
  const [baseline, challenger] = code;
  const label = task.classes.indexOf(given);
  return label === challenger ? CHALLENGER : label === baseline ? BASELINE : NEITHER;
};
class Question {
  constructor(pair) {
    this.pair = pair;
    this.own = pair.codes.map((code, row) => (code ? row : -1)).filter((row) => row >= 0);
    this.all = new Bounds(pair);
    this.decidable = null; // bounds with undecided rows as neither, made when there is one
  }

  judge() {
    const last = this.own.findLastIndex((row) => state.answers[row] !== null);
    const outcomes = (unsaid) => this.own.slice(0, last + 1).map(
      (row) => outcomeOf(this.pair.codes[row], state.answers[row], unsaid));
    this.all.update(outcomes(UNKNOWN));
    const hasUndecided = this.own.some((row) => state.answers[row] === UNDECIDED);
    if (!hasUndecided) this.decidable = null;
    else {
      this.decidable ??= new Bounds({ ...this.pair, two_outcomes: false });
      this.decidable.update(outcomes(NEITHER));
    }
  }

  get answer() {
    return this.all.answer(task.margin);
  }

  get answerIfDecidable() {
    return (this.decidable ?? this.all).answer(task.margin);
  }
}

const SETTLED = ["help", "no_difference", "harm"];
const NOT_WORSE = ["help", "no_difference", "not_worse"];
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const range = (low, high) =>
  low === high ? `exactly ${written(low)}` : `between ${written(low)} and ${written(high)}`;
const errors = ({ low, high }) => {
  if (low === 0 && high === 0) return "as many errors as";
  if (high <= 0) return `${range(-high, -low)} fewer errors than`;
  if (low >= 0) return `${range(low, high)} more errors than`;
  return `between ${written(-low)} fewer and ${written(high)} more errors than`;
};
const WORDS = {
  help: "it is better",
  harm: "it is worse",
  no_difference: "no practical difference",
  not_worse: "it is not worse; whether it is better is open",
  not_better: "it is not better; whether it is worse is open",
  open: "still open",
};
const lines = (question) => {
  const { pair, all, decidable } = question;
  const told = [`${capital(pair.challenger)} makes ${errors(all)} ${pair.baseline}: `
    + `${WORDS[question.answer]}.`];
  if (all.contradicted) {
    told.push("These labels contradict the random order of the rows, which happens by chance with "
      + `a probability of at most ${percent(pair.alpha)} %: only what is certain is claimed here.`);
  }
  if (decidable && question.answerIfDecidable !== question.answer) {
    told.push(`On the rows that can be decided: ${errors(decidable)} ${pair.baseline}; `
      + `${WORDS[question.answerIfDecidable]}.`);
  }
  return told;
};

// The first question decides whether one may stop; the others are optional.
const isSettled = (question) => SETTLED.includes(question.answer);
const newsOf = () => {
  const [leading] = questions;
  const { answer: found, pair: { about } } = leading;
  if (isSettled(leading)) return ["settled", `Settled: ${about}. You may stop and download the sheet.`];
  if (NOT_WORSE.includes(found)) {
    return ["aside", "Settled: not worse. You may stop if that is enough."];
  }
  if (found !== "open") {
    return ["aside", "Settled on one side: you may stop if that is enough."];
  }
  if (SETTLED.includes(leading.answerIfDecidable)) {
    return ["aside", "Settled for the rows that can be decided: you may stop if that is enough."];
  }
  return ["open", nextWithout(-1) < 0 ? `Still open: ${about}. No row is left that could settle it.` : ""];
};
const optional = () => {
  const open = questions.slice(1).filter((question) => !isSettled(question));
  return open.length ? `(Still open, optional: ${open.map(({ pair }) => pair.about).join("; ")}.)` : "";
};
// No numbers while a question is open: those that move with a label tell what models predicted.
const findings = () => {
  if (questions.every(isSettled)) {
    return [create("p", scope()), create("ul", ...questions.flatMap(lines).map((line) => create("li", line)))];
  }
  const { answer: found, pair } = questions[0];
  return [create("p", `${capital(pair.challenger)} against ${pair.baseline}: ${WORDS[found]}.`),
    create("p", optional())];
};
const whatNext = (kind) => {
  if (nextWithout(-1) < 0) {
    const all = state.answers.includes(UNDECIDED) ? "All rows have an answer" : "All rows are labelled";
    return `${all}: download the sheet. ${task.next_step}`;
  }
  return kind === "settled" ? task.next_step : "";
};
const scope = () => {
  const level = 1 - task.pairs.reduce((sum, { alpha }) => sum + alpha, 0);
  const sure = level < 1 ? `, at least ${percent(level)} % sure` : "";
  return `On your ${counted(task.n_rows, "row")}${sure}:`;
};
const showNews = () => {
  const [kind, headline] = newsOf();
  const told = questions.flatMap(lines);
  const next = whatNext(kind);
  at("standing").querySelector("ul").replaceChildren(...told.map((line) => create("li", line)));
  at("counts").lastChild.data = kind === "settled" ? " · settled" : " · still open";
  at("download").classList.toggle("main", kind === "settled" || nextWithout(-1) < 0);
  const box = create("div", create("p", headline));
  box.className = `verdict ${kind}`;
  box.firstChild.className = "answer";
  if (kind === "settled") box.append(...findings());
  if (next) box.append(create("p", next));
  // A live region is read aloud whenever it is written, even if the text is the same.
  if (at("news").textContent === (headline && box.textContent)) return;
  at("news").replaceChildren(...(headline ? [box] : []));
};
let waiting = 0;
const judge = () => {
  waiting = 0;
  questions.forEach((question) => question.judge());
  showNews();
};
// Runs after the next card is painted, because with thousands of rows it takes a moment.
const judgeSoon = () => {
  waiting ||= requestAnimationFrame(() => setTimeout(judge));
};

// ---- The sheet, as Python's csv module writes it, with a mark so that Excel reads UTF-8. Text
// that a spreadsheet could take for a formula gets an apostrophe, as in tables/sheets.py.
const FORMULA = /^'*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]./s;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const guarded = (text) =>
  FORMULA.test(text) && !NUMBER.test(text.trim().replaceAll(",", ".")) ? `'${text}` : text;
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const cell = (text) => quoted(guarded(text));
const sheet = () => {
  const target = task.header.indexOf(task.target);
  const rows = task.rows.map((row, k) =>
    row.map((text, column) => (column === target ? state.answers[k] ?? "" : text)));
  return [task.header, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
};
const download = () => {
  const link = create("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", sheet()], { type: "text/csv;charset=utf-8" }));
  link.download = task.file_name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  isDownloaded = true;
  say(`${task.file_name} was downloaded.`);
};

// ---- Keys. Keys of one letter can be switched off, for those who speak to their computer.
const refuse = (key) => {
  const keys = isSearched ? "Find the class by its name"
    : `The keys are ${KEYS.slice(0, task.classes.length).join(", ")}`;
  say("");
  at("refused").textContent = `No class has the key ${key}: nothing was recorded. ${keys}.`;
};
const byKey = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("select, input:not([type=checkbox])")) return;
  const label = classOf(event.key);
  const actions = {
    "?": () => answer(UNDECIDED), u: undo, Backspace: undo,
    ArrowLeft: () => go(place - 1), ArrowRight: () => go(place + 1),
  };
  const act = label === undefined ? actions[event.key] : () => answer(label);
  const isCharacter = [...event.key].length === 1;
  if (isCharacter && !state.shortcuts) return;
  if (act) {
    event.preventDefault();
    act();
  } else if (isCharacter && event.key.trim()) refuse(event.key);
};

const start = () => {
  state = readSaved(load());
  showStorage();
  at("counts").append("", "");
  at("rows").append(...task.rows.map((_, row) => new Option(option(row), row)));
  const list = at("values").querySelector("dl");
  list.append(...values.map(([, , group]) => group));
  list.classList.toggle("few", values.length <= FEW);
  at("undecided").value = UNDECIDED;
  at("find").hidden = !isSearched;
  at("shortcuts").checked = state.shortcuts;
  at("undo").querySelector("kbd").textContent = undoKey === "u" ? "u" : "⌫";
  at("undo").setAttribute("aria-keyshortcuts", undoKey === "u" ? "u Backspace" : "Backspace");
  at("keys").textContent = `Keys: ${isSearched ? "" : "the character on a button, "}? for `
    + `“cannot say”, ${undoKey === "u" ? "u or " : ""}Backspace to undo, the left and right arrows `
    + "for another row.";
  if (isSearched) search();
  else at("classes").append(...classButtons);
  show(Math.max(nextWithout(-1), 0));
  judge();
};
at("download").addEventListener("click", download);
at("undecided").addEventListener("click", () => byButton(() => answer(UNDECIDED)));
at("undo").addEventListener("click", () => byButton(undo));
at("previous").addEventListener("click", () => go(place - 1));
at("next").addEventListener("click", () => go(place + 1));
at("rows").addEventListener("change", () => go(Number(at("rows").value)));
at("filter").addEventListener("input", search);
at("filter").addEventListener("keydown", searchKey);
at("shortcuts").addEventListener("change", () => {
  state.shortcuts = at("shortcuts").checked;
  save();
});
document.addEventListener("keydown", byKey);
addEventListener("beforeunload", (event) => {
  if (storage && !isDownloaded) event.preventDefault();
});
// The same page in another tab.
addEventListener("storage", (event) => {
  if (event.key !== STORE) return;
  const known = storage;
  state = readSaved(event.newValue);
  if (storage !== known) showStorage();
  at("rows").replaceChildren(...task.rows.map((_, row) => new Option(option(row), row)));
  show(place);
  judge();
});
const questions = task.pairs.map((pair) => new Question(pair));
start();
