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
(() => {
  const content = JSON.parse(document.getElementById("content").textContent);
  const { steps, examples, choices } = content;
  const total = examples.length * steps.length;
  const app = document.getElementById("app");
  const marked = examples.some((example) =>
    [...example.gold, ...example.adversarial].some((segment) => segment.length > 1));
  const LABELS = { yes: "Yes", no: "No", unsure: "Unsure" };
  const HINTS = {
    yes: "A note is optional.",
    no: "What is wrong, and where?",
    unsure: "What is in doubt? Unsure counts as not scored, never as right or wrong.",
  };
  const PREFIX = `tablemend ${content.data} ${content.sample}`;

  let name = ""; // of the annotator
  let answers = {}; // "example step" -> {answer, note}
  let place = 0; // running number of the step; total is the overview
  let marks = marked;
  let kept = true; // whether the browser keeps the answers

  // ---- building ----

  function show(...nodes) {
    app.replaceChildren(...nodes);
    window.scrollTo(0, 0);
  }

  // ---- answers ----

  const keyOf = (number) => `${exampleAt(number).id} ${stepAt(number).name}`;
  const exampleAt = (number) => examples[Math.floor(number / steps.length)];
  const stepAt = (number) => steps[number % steps.length];
  const entryAt = (number) => answers[keyOf(number)] ?? { answer: null, note: "" };
  const numbers = () => Array.from({ length: total }, (_, number) => number);
  const answered = () => numbers().filter((number) => entryAt(number).answer !== null).length;

  const who = () => name.toLowerCase();

  function stored() {
    try {
      return JSON.parse(localStorage.getItem(`${PREFIX} ${who()}`)) ?? {};
    } catch {
      return {};
    }
  }

  function keep() {
    try {
      localStorage.setItem(`${PREFIX} ${who()}`, JSON.stringify(answers));
      localStorage.setItem(`${PREFIX} last`, name);
      kept = true;
    } catch {
      kept = false;
    }
    document.getElementById("unkept")?.toggleAttribute("hidden", kept);
  }

  function change(number, update) {
    answers[keyOf(number)] = { ...entryAt(number), ...update };
    keep();
  }

  // ---- files ----

  function record() {
    return {
      format: content.format,
      version: content.version,
      data: content.data,
      source: content.source,
      split: content.split,
      annotator: name,
      answers: numbers().map((number) => ({
        example: exampleAt(number).id,
        step: stepAt(number).name,
        ...entryAt(number),
      })),
    };
  }

  function download() {
    saveAnswers(name, record());
  }

  // Takes over answers of a file that this page wrote; says what is wrong with any other.
  function takeOver(text) {
    let file;
    try {
      file = JSON.parse(text);
    } catch {
      return "This is no JSON file of answers.";
    }
    if (file?.format !== content.format || !Array.isArray(file.answers)) {
      return "This is no JSON file of answers.";
    }
    if (file.version !== content.version || file.data !== content.data) {
      return "These answers belong to another data set.";
    }
    if (typeof file.annotator !== "string" || file.annotator.trim() === "") {
      return "The file does not say whose answers it holds.";
    }
    const known = new Set(numbers().map(keyOf));
    const found = {};
    for (const one of file.answers) {
      const key = `${one?.example} ${one?.step}`;
      if (!known.has(key)) return "These answers belong to another sample.";
      const valid = one.answer === null || choices.includes(one.answer);
      if (!valid || typeof one.note !== "string") return "The file is damaged.";
      if (one.answer !== null || one.note !== "") {
        found[key] = { answer: one.answer, note: one.note };
      }
    }
    name = tidy(file.annotator);
    answers = { ...stored(), ...found };
    keep();
    return null;
  }

  // ---- first screen ----

  function welcome() {
    let last = "";
    try {
      last = localStorage.getItem(`${PREFIX} last`) ?? "";
    } catch {
      kept = false;
    }
    const input = make("input", {
      id: "name", type: "text", autocomplete: "name", maxlength: "80", required: true, value: last,
    });
    const problem = make("p", { class: "problem", role: "alert" });
    const file = make("input", {
      type: "file", accept: ".json,application/json", id: "file", class: "hidden-input",
      onchange: async () => {
        if (!file.files.length) return;
        problem.textContent = takeOver(await file.files[0].text()) ?? "";
        file.value = "";
        if (problem.textContent === "") begin();
      },
    });
    const form = make("form", {
      class: "start",
      onsubmit: (event) => {
        event.preventDefault();
        name = tidy(input.value);
        if (name === "") return;
        answers = stored();
        keep();
        begin();
      },
    },
      make("label", { for: "name" }, "Your name"),
      make("div", { class: "line" }, input,
        make("button", { type: "submit", class: "primary" }, "Begin or go on")),
      make("p", { class: "note" },
        "It stands in your answer file, so that answers of several annotators can be told apart."),
      make("p", { class: "note" }, "Did you begin on another computer? ", file,
        make("label", { for: "file", class: "link" }, "Go on from an answer file"), "."),
      problem);
    show(make("main", { class: "welcome" },
      make("h1", {}, "Is this data right?"),
      make("p", { class: "lead" },
        `${count(examples.length, "example")}, ${count(steps.length, "question")} each. An example `
        + "is a query, a short text that answers it (the gold context), the table that answers it "
        + "(the gold table), and a long text in which the answer stands among distractors (the "
        + "adversarial context)."),
      make("ol", { class: "steps" }, steps.map((step) =>
        make("li", {}, make("b", {}, step.title), make("span", {}, step.question)))),
      make("p", {},
        "Answer yes only if every point of the list beside the question holds. Answer unsure "
        + "rather than guess: it counts as not scored. Do not discuss examples with the other "
        + "annotators before all have finished."),
      form,
      make("p", { class: "note" },
        "Nothing leaves this computer. Answers are kept in this browser while you work; at the "
        + "end you download them as a file and hand it in. ", helpOfKeys())));
    input.focus();
  }

  function helpOfKeys() {
    const keys = [["Y", "yes"], ["N", "no"], ["U", "unsure"], ["Enter", "next"], ["←", "back"],
      ["T", "note"], ["O", "overview"], ...(marked ? [["M", "marks"]] : [])];
    return make("span", { class: "keys" }, "Keys: ",
      keys.map(([key, what]) => make("span", {}, make("kbd", {}, key), ` ${what} `)));
  }

  function begin() {
    const open = numbers().find((number) => entryAt(number).answer === null);
    go(open ?? total);
  }

  // ---- frame ----

  function go(number) {
    place = Math.max(0, Math.min(total, number));
    if (place === total) overview();
    else question();
  }

  function header() {
    const done = answered();
    const finished = examples.filter((_, index) => steps.every((_, step) =>
      entryAt(index * steps.length + step).answer !== null)).length;
    return make("header", { class: "top" },
      make("div", { class: "bar" },
        make("strong", {}, name),
        make("span", { class: "note", id: "count", "aria-live": "polite" },
          `${done} of ${count(total, "answer")}, ${finished} of ${count(examples.length, "example")}`),
        make("progress", { max: total, value: done, "aria-label": "answers given" }),
        make("span", { class: "space" }),
        marked
          ? make("label", { class: "switch" },
            make("input", {
              type: "checkbox", id: "marks", checked: marks,
              onchange: (event) => setMarks(event.target.checked),
            }), " Marks")
          : null,
        make("button", { id: "overview", onclick: () => go(total) }, "Overview"),
        make("button", { id: "json", onclick: download }, "Download")),
      make("p", { id: "unkept", class: "problem", role: "alert", hidden: kept },
        "This browser does not keep your answers: download them before you close the page."));
  }

  function setMarks(on) {
    marks = on;
    document.body.classList.toggle("unmarked", !marks);
    const box = document.getElementById("marks");
    if (box) box.checked = marks;
    for (const mark of app.querySelectorAll("mark[data-why]")) {
      if (marks) mark.title = mark.dataset.why;
      else mark.removeAttribute("title");
    }
  }

  // ---- one question ----

  function question() {
    const number = place;
    const example = exampleAt(number);
    const step = stepAt(number);
    const index = Math.floor(number / steps.length);
    const first = index * steps.length;
    const tabs = make("nav", { class: "tabs", "aria-label": "Steps of this example" },
      steps.map((one, offset) => {
        const own = entryAt(first + offset).answer;
        return make("button", {
          class: `tab ${own ?? "open"}`, "aria-current": first + offset === number ? "step" : null,
          onclick: () => go(first + offset),
        }, make("i", { class: `dot ${own ?? "open"}` }), `${offset + 1} ${one.title}`,
          own ? make("span", { class: "unseen" }, `, answered ${LABELS[own]}`) : null);
      }));
    const heading = make("h1", { tabindex: "-1", id: "heading" }, `${index + 1}. ${example.topic}`);
    show(header(),
      make("main", { class: `work at-${step.name}` },
        make("div", { class: "title" }, heading,
          make("small", {}, [example.about, `id ${example.id}`].filter(Boolean).join(" · "))),
        tabs,
        make("section", { class: "ask" },
          make("h2", {}, step.question),
          make("ul", {}, step.points.map((point) => make("li", {}, point)))),
        VIEWS[step.name](example)),
      dock(number));
    setMarks(marks);
    heading.focus({ preventScroll: true });
  }

  const VIEWS = {
    query: (example) => make("div", { class: "panes" },
      pane("Query", make("p", { class: "query" }, example.query)),
      make("div", {},
        pane("Its constraints, as recorded", recorded(example)),
        pane("Columns of the gold table, in order", make("ol", { class: "columns" },
          example.columns.map((column) => make("li", {}, column)))))),
    table: (example) => make("div", {},
      pane("Query", make("p", { class: "query" }, example.query)),
      pane(titled("Gold table", count(example.rows.length, "row")), goldTable(example)),
      pane(titled("Gold context", size(example.gold)), legend(false), text(example.gold, "gold"))),
    context: (example) => make("div", { class: "panes" },
      make("div", { class: "pane aside" },
        make("h3", {}, "Query"),
        make("p", { class: "query" }, example.query),
        make("details", {}, make("summary", {}, "Constraints, as recorded"), recorded(example)),
        make("details", {}, make("summary", {}, "Gold table"), goldTable(example)),
        make("h3", {}, titled("Gold context", size(example.gold))),
        text(example.gold, "gold")),
      make("div", {}, breaks(example),
        pane(titled("Adversarial context", size(example.adversarial)),
          legend(true, example.distractors.length),
          text(example.adversarial, "adversarial")))),
  };

  const recorded = (example) => make("dl", {}, example.constraints.map(([key, value]) =>
    [make("dt", {}, key), make("dd", {}, value)]));
  const titled = (title, detail) => [`${title} `, make("small", {}, detail)];
  const pane = (title, ...children) =>
    make("div", { class: "pane" }, make("h3", {}, title), children);
  const size = (segments) => count(
    segments.reduce((sum, segment) => sum + [...segment[0]].length, 0), "character");

  function legend(adversarial, recorded) {
    if (!marked) return null;
    return make("p", { class: "note legend" },
      make("mark", { class: "fact" }, "in scope"), " belongs into the table",
      !adversarial ? [] : recorded
        ? ["; ", make("mark", { class: "distractor" }, "out of scope"), " is a distractor"]
        : "; distractors are not marked: a model wrote them, and their places are not known",
      ". The marks are the generator's claim, to be checked; the switch at the top hides them. "
      + "Point at a mark to see whose value it is, press a cell of the table to find it in the text.");
  }

  function text(segments, side) {
    return make("p", { class: `context ${side}` }, segments.map(([words, row, entity, column, violates]) => {
      if (row === undefined) return words;
      const why = `${entity}: ${column}` + (violates === null ? "" : ` (out of scope by ${violates})`);
      return make("mark", {
        class: violates === null ? "fact" : "distractor", "data-why": why,
        "data-fact": violates === null ? JSON.stringify([row, column]) : null,
        "data-row": violates === null ? null : row,
        "data-breaks": column === violates,
      }, words);
    }));
  }

  function goldTable(example) {
    const [sorted, order] = example.sort;
    return make("div", { class: "scroll" }, make("table", { class: "gold" },
      make("thead", {}, make("tr", {}, example.columns.map((column) => make("th", {
        scope: "col", "aria-sort": column === sorted ? order : null,
      }, column, column === sorted ? (order === "ascending" ? " ▲" : " ▼") : "")))),
      make("tbody", {}, example.rows.map((row, index) => make("tr", {}, row.map((value, column) =>
        make("td", {}, value === null
          ? make("span", { class: "blank" }, "empty")
          : marked
            ? make("button", {
              class: "cell", onclick: () => find(`[data-fact="${CSS.escape(
                JSON.stringify([index, example.columns[column]]))}"]`),
            }, value)
            : value)))))));
  }

  function breaks(example) {
    if (!example.distractors.length) return null;
    const rows = [...example.distractors].sort((one, other) => one[2].localeCompare(other[2]));
    return make("details", { class: "pane claims" },
      make("summary", {}, `What each of ${count(rows.length, "distractor row")} breaks, as recorded`),
      make("div", { class: "scroll tall" }, make("table", {},
        make("thead", {}, make("tr", {}, ["entity", "out of scope by", "value"].map((title) =>
          make("th", { scope: "col" }, title)))),
        make("tbody", {}, rows.map(([row, entity, column, value]) => make("tr", {},
          make("td", {}, make("button", {
            class: "cell", onclick: () => find(`[data-row="${row}"]`),
          }, entity)),
          make("td", {}, column), make("td", {}, value)))))));
  }

  // Shows where a fact stands, in every text on the screen.
  function find(selector) {
    if (!marks) return;
    for (const old of app.querySelectorAll("mark.found")) old.classList.remove("found");
    for (const side of app.querySelectorAll(".context")) {
      const found = [...side.querySelectorAll(`mark${selector}`)];
      for (const mark of found) mark.classList.add("found");
      const telling = found.find((mark) => mark.matches("[data-breaks]")) ?? found[0];
      telling?.scrollIntoView({ block: "nearest" });
    }
  }

  // ---- answering ----

  function dock(number) {
    const entry = entryAt(number);
    const note = make("textarea", {
      id: "note", rows: "2", "aria-label": "Note", maxlength: "5000",
      placeholder: entry.answer ? HINTS[entry.answer] : "Note (optional)",
      oninput: () => change(number, { note: note.value }),
    });
    note.value = entry.note;
    return make("footer", { class: "dock" }, make("div", { class: "bar" },
      make("div", { class: "choices", role: "group", "aria-label": stepAt(number).question },
        choices.map((choice) => make("button", {
          class: `choice ${choice}`, id: `choose-${choice}`,
          "aria-pressed": String(entry.answer === choice),
          onclick: () => choose(choice),
        }, LABELS[choice], make("kbd", {}, LABELS[choice][0])))),
      note,
      make("div", { class: "moves" },
        make("button", { id: "back", disabled: number === 0, onclick: () => go(place - 1) }, "← Back"),
        make("button", { id: "next", class: "primary", onclick: () => go(place + 1) },
          number === total - 1 ? "Finish" : "Next →"))));
  }

  // Choosing what is chosen already takes it back.
  function choose(choice) {
    const answer = entryAt(place).answer === choice ? null : choice;
    change(place, { answer });
    const [top, main, bottom] = [header(), app.querySelector("main"), dock(place)];
    app.replaceChildren(top, main, bottom);
    const tab = main.querySelector('.tab[aria-current="step"]');
    tab.className = `tab ${answer ?? "open"}`;
    tab.querySelector(".dot").className = `dot ${answer ?? "open"}`;
    setMarks(marks);
    document.getElementById(answer === "no" || answer === "unsure" ? "note" : "next")
      .focus({ preventScroll: true });
  }

  // ---- overview ----

  function overview() {
    const done = answered();
    const tally = Object.fromEntries(choices.map((choice) =>
      [choice, numbers().filter((number) => entryAt(number).answer === choice).length]));
    const open = numbers().find((number) => entryAt(number).answer === null);
    const heading = make("h1", { tabindex: "-1", id: "heading" },
      done === total ? "All questions are answered" : "Overview");
    show(header(), make("main", { class: "overview" }, heading,
      make("p", { class: "lead" }, done === total
        ? "Thank you. Download your answers and hand the file in."
        : `${count(total - done, "question")} still open.`),
      make("div", { class: "cards" },
        choices.map((choice) => make("div", { class: `card ${choice}` },
          make("span", { class: "name" }, LABELS[choice]), make("b", {}, String(tally[choice])))),
        make("div", { class: "card open" },
          make("span", { class: "name" }, "Open"), make("b", {}, String(total - done)))),
      make("p", { class: "line" },
        make("button", { class: done === total ? "primary" : "", onclick: download },
          "Download answers"),
        open === undefined ? null
          : make("button", { class: "primary", id: "next", onclick: () => go(open) },
            "Next open question →")),
      make("h2", {}, "Examples"),
      make("ol", { class: "grid" }, examples.map((example, index) => make("li", {},
        make("button", {
          title: example.topic, onclick: () => go(index * steps.length),
          "aria-label": `Example ${index + 1}: ${steps.map((step, offset) =>
            `${step.title} ${entryAt(index * steps.length + offset).answer ?? "open"}`).join(", ")}`,
        }, String(index + 1), make("span", { class: "dots" }, steps.map((_, offset) =>
          make("i", { class: `dot ${entryAt(index * steps.length + offset).answer ?? "open"}` }))))))),
      make("p", { class: "note" }, helpOfKeys())));
    heading.focus({ preventScroll: true });
  }

  // ---- keys and windows ----

  document.addEventListener("keydown", (event) => {
    if (name === "" || !document.getElementById("heading")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target;
    if (target.matches("textarea")) {
      if (event.key === "Escape") document.getElementById("heading").focus();
      else if (event.key === "Enter" && !event.shiftKey) go(place + 1);
      else return;
      event.preventDefault();
      return;
    }
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const choice = place < total && choices.find((one) => LABELS[one][0].toLowerCase() === key);
    if (choice && !event.repeat) choose(choice);
    else if (key === "Enter" && !target.matches("button, summary, input, label")) {
      document.getElementById("next")?.click();
    } else if (key === "ArrowRight") go(place + 1);
    else if (key === "ArrowLeft") go(place - 1);
    else if (key === "t" && place < total) document.getElementById("note").focus();
    else if (key === "o") go(total);
    else if (key === "m" && marked) setMarks(!marks);
    else return;
    event.preventDefault();
  });

  // The same page in another tab: what is answered there is seen here.
  window.addEventListener("storage", (event) => {
    if (name === "" || event.key !== `${PREFIX} ${who()}`) return;
    answers = stored();
    if (document.activeElement?.id !== "note") go(place);
  });

  window.addEventListener("beforeunload", (event) => {
    if (!kept && Object.keys(answers).length) event.preventDefault();
  });

  welcome();
})();
