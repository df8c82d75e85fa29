(() => {
  const content = JSON.parse(document.getElementById("content").textContent);
  const { annotator, domain, lessons, check, pairs, questions, tree } = content;
  const isHotel = domain === "hotel";
  const app = document.getElementById("app");
  const PREFIX = `tablemend ${content.format} ${content.sample} ${annotator}`;
  const DIVERGENT = ["divergent_input", "divergent_output"];
  const LONGEST_PAUSE = 600; // seconds; a longer one is no work on a pair

  // Where an annotator can be, one after the other; steps are those within an exercise or a pair.
  const places = [
    { stage: "intro" },
    ...lessons.map((lesson, index) => ({ stage: "lesson", key: `lesson ${index}`, ...lesson, index })),
    ...(check ? [{ stage: "check", key: "check", ...check }] : []),
    ...pairs.map((pair, index) => ({ stage: "pair", key: pair.id, ...pair, index })),
    { stage: "end" },
  ];
  let state = { place: 0, step: 0, entries: {}, failed: false };
  let kept = true; // whether the browser keeps the answers
  let since = performance.now(); // no clock that may be set back

  const here = () => places[state.place];
  const entryOf = (place) => state.entries[place.key]
    ?? { path: {}, marks: {}, kinds: [], slider: null, comment: "", seconds: 0 };
  const entry = () => entryOf(here());

  function load() {
    try {
      state = { ...state, ...JSON.parse(localStorage.getItem(PREFIX) ?? "{}") };
    } catch {
      kept = false;
    }
  }

  function keep() {
    try {
      localStorage.setItem(PREFIX, JSON.stringify(state));
      kept = true;
    } catch {
      kept = false;
    }
    document.getElementById("unkept")?.toggleAttribute("hidden", kept);
  }

  function change(update) {
    const place = here();
    if (!place.key) return;
    state.entries[place.key] = { ...entry(), ...update };
    keep();
  }

  function clock() {
    const passed = (performance.now() - since) / 1000;
    since = performance.now();
    if (here().key) change({ seconds: entry().seconds + Math.min(passed, LONGEST_PAUSE) });
  }

  // ---- the tree ----

  // The steps that an entry has led to so far; the last is open, or rates what is done.
  function steps(place) {
    if (place.stage === "lesson") {
      return [place.ask in questions ? { kind: "ask", id: place.ask } : { kind: "mark", what: [place.ask] }];
    }
    const { path } = entryOf(place);
    const found = isHotel ? [{ kind: "mark", what: DIVERGENT }] : [];
    let node = tree;
    while (typeof node === "object") {
      found.push({ kind: "ask", id: node.ask });
      if (!(node.ask in path)) return found;
      if (node.ask === "ambiguous" && path.ambiguous) found.push({ kind: "kinds" });
      if (node.ask === "wrong" && path.wrong) found.push({ kind: "mark", what: ["wrong"] });
      node = path[node.ask] ? node.yes : node.no;
    }
    return place.stage === "check" ? found : [...found, { kind: "rate" }];
  }

  // The relation that the answers lead to, and the answers that were asked for on the way.
  function walk(path) {
    let node = tree;
    const told = {};
    while (typeof node === "object" && node.ask in path) {
      told[node.ask] = path[node.ask];
      node = path[node.ask] ? node.yes : node.no;
    }
    return [typeof node === "string" ? node : null, told];
  }

  // Why a step cannot be left; empty where it can.
  function open(step) {
    const { path, marks, kinds, slider } = entry();
    if (step.kind === "ask" && !(step.id in path)) return "Answer with yes or no.";
    if (step.kind === "kinds" && !kinds.length) return "Choose one kind or more.";
    if (step.kind === "mark" && step.what[0] === "wrong" && !marks.wrong?.length) {
      return "Highlight in Output what is factually wrong.";
    }
    if (step.kind === "rate" && isHotel && slider === null) return "Choose a number from 1 to 7.";
    return "";
  }

  const isDone = (place) => {
    const found = entryOf(place);
    const all = steps(place);
    return all.at(-1).kind === "rate" && (!isHotel || found.slider !== null);
  };

  // ---- words ----

  // A text as words and what is between them; places count characters, not UTF-16 units.
  function words(text) {
    const found = [];
    let end = 0;
    let characters = 0;
    for (const match of text.matchAll(/[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}'’.-]*[\p{L}\p{N}\p{M}])?|[¬∀∃∧∨→↔=≠]/gu)) {
      const gap = text.slice(end, match.index);
      characters += [...gap].length;
      const start = characters;
      characters += [...match[0]].length;
      found.push({ gap, word: match[0], start, end: characters });
      end = match.index + match[0].length;
    }
    return { found, rest: text.slice(end) };
  }

  const APART = /[.;!?\n]/;

  // Neighbouring words that are highlighted are one span, unless a sentence, a value or a line ends.
  function spans(text, marked = []) {
    const all = words(text).found;
    const found = [];
    for (const index of [...marked].sort((one, other) => one - other)) {
      if (found.at(-1)?.last === index - 1 && !APART.test(all[index].gap)) found.at(-1).last = index;
      else found.push({ first: index, last: index });
    }
    return found.map(({ first, last }) => [all[first].start, all[last].end]);
  }

  const sideOf = (what) => (what === "divergent_input" ? "input" : "output");

  function sideText(place, side) {
    const { found, rest } = words(place[side]);
    const marks = entryOf(place).marks;
    const active = currentStep(place)?.what?.find((what) => sideOf(what) === side);
    const has = (what, index) => marks[what]?.includes(index);
    let label = true; // of a line of the hotel domain's input, up to its colon
    const nodes = found.map(({ gap, word }, index) => {
      label = gap.includes("\n") || (label && !gap.includes(":"));
      const own = side === "input"
        ? { divergent: has("divergent_input", index) }
        : { divergent: has("divergent_output", index), wrong: has("wrong", index) };
      const joined = (what) => has(what, index) && has(what, index - 1) && !APART.test(gap);
      const between = { wrong: side === "output" && joined("wrong"), divergent: joined(`divergent_${side}`) };
      return [
        make("span", { class: gapClass(between) }, gap),
        make("span", {
          "data-word": index,
          class: ["word", isHotel && side === "input" && label && "label", own.divergent && "divergent",
            own.wrong && "wrong"].filter(Boolean).join(" "),
        }, word)];
    });
    const box = make("div", {
      class: `text ${isHotel || side === "output" ? "" : "formula"} ${active ? "active" : ""}`,
      "data-side": side, lang: "en",
      tabindex: active ? "0" : null,
      role: active ? "application" : null,
      "aria-label": active
        ? `${side === "input" ? "Input" : "Output"}: arrow keys move from word to word, space highlights`
        : null,
    }, nodes, rest);
    if (active) highlighting(box, place, active);
    return box;
  }

  const gapClass = (own) => (own.wrong ? "gap wrong" : own.divergent ? "gap divergent" : "");

  // Pull over words, or press one; what is highlighted already is cleared.
  function highlighting(box, place, what) {
    const wordAt = (node) => node?.closest?.("[data-word]");
    const nodes = [...box.querySelectorAll("[data-word]")];
    let anchor = null;
    let cursor = -1;
    const paint = (from, to) => nodes.forEach((node, index) => node.classList.toggle(
      "pulled", from !== null && index >= Math.min(from, to) && index <= Math.max(from, to)));
    const put = (from, to) => {
      const marked = new Set(entryOf(place).marks[what] ?? []);
      const clear = marked.has(from);
      for (let index = Math.min(from, to); index <= Math.max(from, to); index += 1) {
        if (clear) marked.delete(index);
        else marked.add(index);
      }
      change({ marks: { ...entryOf(place).marks, [what]: [...marked] } });
      const again = sideText(place, box.dataset.side);
      box.replaceWith(again);
      again.focus({ preventScroll: true });
      again.dispatchEvent(new CustomEvent("cursor", { detail: to }));
      refreshDock();
    };
    const move = (to) => {
      cursor = Math.max(0, Math.min(nodes.length - 1, to));
      nodes.forEach((node, index) => node.classList.toggle("cursor", index === cursor));
      nodes[cursor]?.scrollIntoView({ block: "nearest" });
    };
    box.addEventListener("cursor", (event) => { cursor = event.detail; });
    box.addEventListener("pointerdown", (event) => {
      const word = wordAt(event.target);
      if (!word || event.button) return;
      anchor = Number(word.dataset.word);
      paint(anchor, anchor);
      event.preventDefault();
    });
    box.addEventListener("pointermove", (event) => {
      if (anchor === null) return;
      const word = wordAt(document.elementFromPoint(event.clientX, event.clientY));
      if (word && box.contains(word)) paint(anchor, Number(word.dataset.word));
    });
    box.addEventListener("pointerup", (event) => {
      if (anchor === null) return;
      const word = wordAt(document.elementFromPoint(event.clientX, event.clientY));
      const to = word && box.contains(word) ? Number(word.dataset.word) : anchor;
      const from = anchor;
      anchor = null;
      put(from, to);
    });
    box.addEventListener("pointerleave", () => { anchor = null; paint(null, 0); });
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "ArrowRight" || event.key === "ArrowDown") move(cursor + 1);
      else if (event.key === "ArrowLeft" || event.key === "ArrowUp") move(cursor - 1);
      else if (event.key === " " && cursor >= 0) put(cursor, cursor);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  // ---- going on ----

  // What can still be worked on: an exercise whose feedback is shown cannot.
  const currentStep = (place) => (place.stage === "lesson" && answered() ? undefined
    : steps(place)[state.step]);

  function go(place, step = 0) {
    clock();
    state.place = Math.max(0, Math.min(places.length - 1, place));
    state.step = here().key ? Math.min(step, steps(here()).length - 1) : 0;
    keep();
    draw();
  }

  function next() {
    const place = here();
    if (place.stage === "lesson" && !answered()) {
      if (steps(place)[0].kind === "ask") return;
      change({ shown: true }); // what was highlighted is compared now
      draw();
      return;
    }
    if (place.key && open(steps(place)[state.step])) return;
    if (place.key && state.step < steps(place).length - 1) go(state.place, state.step + 1);
    else if (place.stage === "check" && !passes()) {
      state.failed = true;
      keep();
      draw();
    } else go(state.place + 1);
  }

  // A check that is passed is not opened again.
  const canGoBack = () => state.step > 0
    || (state.place > 0 && !(here().stage === "pair" && here().index === 0 && check)
      && here().stage !== "check");

  function back() {
    if (!canGoBack()) return;
    if (state.step > 0) go(state.place, state.step - 1);
    else go(state.place - 1, 99);
  }

  function answer(value) {
    const place = here();
    const step = place.key && steps(place)[state.step];
    if (step?.kind !== "ask" || state.failed) return;
    if (place.stage === "lesson") {
      if (!answered()) change({ path: { [step.id]: value }, shown: true });
      draw();
      return;
    }
    change({ path: walk({ ...entry().path, [step.id]: value })[1] });
    next();
  }

  function passes() {
    const { path, marks } = entry();
    const divergent = spans(check.output, marks.divergent_output);
    const wrong = spans(check.output, marks.wrong);
    const held = ([start, end], own) => own.some(([a, b]) => a <= start && end <= b);
    return check.relations.includes(walk(path)[0])
      && held(check.harmless, divergent) && held(check.wrong, divergent) && held(check.wrong, wrong)
      && !wrong.some(([a, b]) => a < check.harmless[1] && check.harmless[0] < b);
  }

  // ---- lessons ----

  const answered = () => entry().shown === true;

  function isRight(place) {
    const { path, marks } = entryOf(place);
    if (place.ask in questions) return path[place.ask] === place.answer;
    const own = spans(place[sideOf(place.ask)], marks[place.ask]);
    return place.wanted.every(([start, end]) => own.some(([a, b]) => a < end && start < b));
  }

  function feedback(place) {
    if (place.stage !== "lesson" || !answered()) return null;
    const said = place.ask in questions ? entry().path[place.ask] : isRight(place);
    const right = isRight(place);
    return make("p", { class: `feedback ${right ? "right" : "not"}`, role: "status", id: "feedback" },
      place.feedback[said ? "yes" : "no"]);
  }

  // ---- files ----

  function record() {
    const one = (place) => {
      const found = entryOf(place);
      const [relation, path] = walk(found.path);
      const own = (what) => (isHotel ? spans(place[sideOf(what)], found.marks[what]) : null);
      return {
        pair: place.id, path, finished: relation !== null && (place.stage === "check" || isDone(place)),
        ambiguities: path.ambiguous ? found.kinds : [],
        divergent_input: own(DIVERGENT[0]), divergent_output: own(DIVERGENT[1]),
        wrong: path.wrong || !isHotel ? own("wrong") : [],
        slider: found.slider, comment: found.comment.trim(), seconds: Math.round(found.seconds * 100) / 100,
      };
    };
    const begun = (place) => place.key in state.entries;
    const exercises = places.filter((place) => place.stage === "lesson");
    const checked = places.find((place) => place.stage === "check");
    return {
      format: content.format, protocol: content.protocol, sample: content.sample, domain, annotator,
      exercises: exercises.length,
      right: exercises.filter((place) => entryOf(place).shown && isRight(place)).length,
      check: checked && begun(checked) ? one(checked) : null,
      answers: places.filter((place) => place.stage === "pair" && begun(place)).map(one),
    };
  }

  const download = () => saveAnswers(annotator, record());

  // ---- drawing ----

  function header() {
    const done = pairs.filter((pair) => isDone({ ...pair, stage: "pair", key: pair.id })).length;
    return make("header", { class: "top" },
      make("div", { class: "bar" },
        make("strong", {}, annotator),
        make("span", { class: "note", id: "count", "aria-live": "polite" },
          `${done} of ${count(pairs.length, "pair")}`),
        make("progress", { max: places.length - 1, value: state.place, "aria-label": "progress" }),
        make("span", { class: "space" }),
        here().stage === "intro" ? null
          : make("button", { id: "help", onclick: () => document.getElementById("guidelines").showModal() },
            "Guidelines"),
        make("button", { id: "json", onclick: download }, "Download")),
      make("p", { id: "unkept", class: "problem", role: "alert", hidden: kept },
        "This browser does not keep your answers: download them before you close the page."));
  }

  const guidelines = () => content.guidelines.map((paragraph) => {
    const [, head, text] = /^([A-Z][\w -]{3,30}: )?([^]*)$/.exec(paragraph);
    return make("p", {}, head ? make("b", {}, head) : null, text);
  });

  const dialog = () => make("dialog", { id: "guidelines", "aria-label": "Guidelines" }, guidelines(),
    make("button", {
      class: "primary", onclick: () => document.getElementById("guidelines").close(),
    }, "Close"));

  function intro() {
    const parts = [`${count(lessons.length, "exercise")} with feedback`,
      check ? ", a comprehension check that has to be passed," : "",
      ` and ${count(pairs.length, "pair")} of Input and Output`].join("");
    return make("main", { class: "welcome guide" },
      make("h1", { tabindex: "-1", id: "heading" }, "Does Output say what Input says?"),
      guidelines(),
      make("p", { class: "lead" }, `What comes: ${parts}. One question is asked at a time.`),
      make("p", {}, make("button", { id: "next", class: "primary", onclick: next },
        Object.keys(state.entries).length ? "Go on" : "Begin")),
      make("p", { class: "note" },
        "Nothing leaves this computer. Answers are kept in this browser while you work; at the end "
        + "you download them as a file and hand it in. ", keys()));
  }

  const keys = () => make("span", { class: "keys" }, "Keys: ",
    [["Y", "yes"], ["N", "no"], ["Enter", "next"], ["←", "back"]].map(([key, what]) =>
      make("span", {}, make("kbd", {}, key), ` ${what} `)));

  const TITLES = {
    lesson: (place) => `Exercise ${place.index + 1} of ${lessons.length}`,
    check: () => "Comprehension check",
    pair: (place) => `Pair ${place.index + 1} of ${pairs.length}`,
  };

  function work() {
    const place = here();
    const step = steps(place)[state.step];
    return make("main", { class: `work pairs ${domain}` },
      make("div", { class: "title" },
        make("h1", { tabindex: "-1", id: "heading" }, TITLES[place.stage](place)),
        place.stage === "check"
          ? make("small", {}, "No feedback here. Only who passes goes on to the pairs.") : null),
      make("div", { class: "panes two" },
        make("div", { class: "pane" }, make("h3", {}, "Input"), sideText(place, "input")),
        make("div", { class: "pane" }, make("h3", {}, "Output"), sideText(place, "output"))),
      make("section", { class: "ask" }, ASKS[step.kind](step), feedback(place)));
  }

  const heads = (title, ...rest) => [make("h2", {}, title), rest];
  const ASKS = {
    ask: (step) => heads(questions[step.id].ask, make("p", {}, questions[step.id].means)),
    mark: (step) => heads(step.what.length > 1 ? "Highlight all divergent information" : content.marks[step.what[0]],
      make("p", {}, "Pull the mouse over words, or press single ones; again to clear them. ",
        step.what.map((what) => make("span", { class: "key" },
          make("span", { class: what === "wrong" ? "word wrong" : "word divergent" },
            what === "wrong" ? "factually wrong" : "divergent"),
          ` in ${sideOf(what) === "input" ? "Input" : "Output"} `)),
        step.what[0] === "wrong" ? null : "If there is none, go on.")),
    kinds: () => heads("What makes it ambiguous?", make("div", { class: "kinds" },
      Object.entries(content.kinds).map(([kind, what]) => make("label", {},
        make("input", {
          type: "checkbox", value: kind, checked: entry().kinds.includes(kind),
          onchange: (event) => {
            const others = entry().kinds.filter((one) => one !== kind);
            change({ kinds: event.target.checked ? [...others, kind] : others });
            refreshDock();
          },
        }), ` ${kind.replaceAll("_", " ")}: ${what}`)))),
    rate: () => [
      isHotel ? heads(content.faithful, make("div", { class: "scale", role: "radiogroup", "aria-label": content.faithful },
        make("span", { class: "note" }, "not at all"),
        [1, 2, 3, 4, 5, 6, 7].map((number) => make("button", {
          class: "rating", id: `rate-${number}`, role: "radio",
          "aria-checked": String(entry().slider === number), onclick: () => rate(number),
        }, String(number))),
        make("span", { class: "note" }, "entirely"))) : make("h2", {}, "Anything to add?"),
      comment()],
  };

  function comment() {
    const box = make("textarea", {
      id: "comment", rows: "2", maxlength: "5000", placeholder: "Comment (optional)",
      "aria-label": "Comment", oninput: () => change({ comment: box.value }),
    });
    box.value = entry().comment;
    return box;
  }

  function rate(number) {
    change({ slider: number });
    for (const button of app.querySelectorAll(".rating")) {
      button.setAttribute("aria-checked", String(button.id === `rate-${number}`));
    }
    refreshDock();
  }

  function dock() {
    const place = here();
    const step = steps(place)[state.step];
    const given = entry().path[step.id];
    const why = place.stage === "lesson" ? "" : open(step);
    const locked = place.stage === "lesson" && answered();
    const waits = why !== "" || (place.stage === "lesson" && step.kind === "ask" && !answered());
    return make("footer", { class: "dock", id: "dock" }, make("div", { class: "bar" },
      step.kind === "ask"
        ? make("div", { class: "choices", role: "group", "aria-label": questions[step.id].ask },
          [[true, "Yes", "yes"], [false, "No", "no"]].map(([value, label, name]) => make("button", {
            class: `choice ${name}`, id: `choose-${name}`, "aria-pressed": String(given === value),
            disabled: locked, onclick: () => answer(value),
          }, label, make("kbd", {}, label[0])))) : null,
      make("span", { class: "note hint" }, step.kind === "ask" ? "" : why),
      make("span", { class: "space" }),
      make("div", { class: "moves" },
        make("button", { id: "back", disabled: !canGoBack(), onclick: back }, "← Back"),
        make("button", { id: "next", class: "primary", disabled: waits, onclick: next }, "Next →"))));
  }

  function refreshDock() {
    document.getElementById("dock")?.replaceWith(dock());
  }

  function end() {
    const left = pairs.findIndex((pair) => !isDone({ ...pair, stage: "pair", key: pair.id }));
    return make("main", { class: "welcome" },
      make("h1", { tabindex: "-1", id: "heading" }, left < 0 ? "All pairs are done" : "Some pairs are open"),
      make("p", { class: "lead" }, left < 0
        ? "Thank you. Download your answers and hand the file in."
        : "Answers that you have given can be downloaded as they are."),
      make("p", { class: "line" },
        make("button", { class: left < 0 ? "primary" : "", id: "download", onclick: download }, "Download answers"),
        left < 0 ? null : make("button", {
          id: "next", class: "primary",
          onclick: () => go(places.findIndex((place) => place.stage === "pair") + left, 99),
        }, "Next open pair →"),
        make("button", { id: "back", onclick: back }, "← Back")));
  }

  const stopped = () => make("main", { class: "welcome" },
    make("h1", { tabindex: "-1", id: "heading" }, "The check was not passed"),
    make("p", { class: "lead" }, "Thank you for your time. The work ends here for you, as some answers of the "
      + "check differ from what the guidelines say. Please download your file and hand it in all the same."),
    make("p", {}, make("button", { class: "primary", id: "download", onclick: download }, "Download answers")));

  function draw() {
    const stage = state.failed ? "stopped" : here().stage;
    const main = { intro, stopped, end }[stage] ?? work;
    app.replaceChildren(header(), main(), ...(main === work ? [dock()] : []), dialog());
    window.scrollTo(0, 0);
    document.getElementById("heading").focus({ preventScroll: true });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.getElementById("guidelines")?.open) return;
    const target = event.target;
    if (target.matches("textarea")) {
      if (event.key === "Enter" && !event.shiftKey) {
        next();
        event.preventDefault();
      }
      return;
    }
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const step = here().key && !state.failed ? steps(here())[state.step] : undefined;
    if ((key === "y" || key === "n") && step?.kind === "ask") {
      if (!event.repeat) answer(key === "y");
    } else if (/^[1-7]$/.test(key) && step?.kind === "rate" && isHotel) rate(Number(key));
    else if (key === "Enter" && !target.matches("button, input, label, summary")) {
      document.getElementById("next")?.click();
    } else if (key === "ArrowLeft" && here().key) back();
    else return;
    event.preventDefault();
  });

  window.addEventListener("beforeunload", (event) => {
    if (!kept && Object.keys(state.entries).length) event.preventDefault();
  });

  load();
  draw();
})();
