"use strict";
// The examples of a report: listed, filtered, searched, and two systems side by side.
// The address after # holds all that is shown; the data is unpacked when it is needed.
(() => {
  const { render, h } = preact;
  const { useEffect, useLayoutEffect, useMemo, useRef, useState } = preactHooks;
  const html = htm.bind(h);

  // ---- data ----

  const parsed = new Promise((done) => document.addEventListener("DOMContentLoaded", done));

  async function unpack(id) {
    if (!document.getElementById(id)) await parsed;
    const text = atob(document.getElementById(id).textContent);
    const bytes = new Uint8Array(text.length);
    for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  let index; // of all examples; see viewer.py
  let words = null; // {words, rows: the words of each example, by number}; null until unpacked
  const blocks = new Map();

  async function open(place) {
    const number = index.blocks.findLastIndex((start) => start <= place);
    if (!blocks.has(number)) blocks.set(number, unpack(`block-${number}`));
    return (await blocks.get(number))[place - index.blocks[number]];
  }

  // Numbers from the steps between them.
  function climb(steps) {
    const numbers = new Uint32Array(steps.length);
    steps.reduce((sum, step, place) => (numbers[place] = sum + step), 0);
    return numbers;
  }

  async function unpackWords() {
    const packed = await unpack("words");
    words = { words: packed.words, rows: packed.rows.map(climb) };
  }

  // Cut as the texts are (BETWEEN_WORDS in viewer.py).
  const piecesOf = (query) => query.toLowerCase().split(/[\s|"<>{}[\]]+/).filter(Boolean);

  // Whether an example, by number, holds every word that is searched for, or a longer one.
  function search(query) {
    const found = new Uint8Array(words.rows.length).fill(1);
    for (const piece of piecesOf(query)) {
      const hits = Uint8Array.from(words.words, (word) => word.includes(piece));
      words.rows.forEach((own, place) => (found[place] &= own.some((number) => hits[number])));
    }
    return found;
  }

  // ---- the address ----

  const read = () => {
    const [name, query] = location.hash.split("?");
    return name === "#examples" ? Object.fromEntries(new URLSearchParams(query)) : null;
  };
  const write = (chosen) => {
    const kept = Object.entries(chosen).filter(([, value]) => value);
    return `#examples${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
  };

  // ---- what is chosen ----

  const isError = (outcome) => index.errors.some(([name]) => name === outcome);
  const OUTCOMES = {
    "any-error": ["any error", (own) => own.some(isError)],
    right: ["no error", (own) => !own.some(isError) && own[0] !== "unscored"],
    abstention: ["says nothing", (own) => own.includes("abstention")],
    scored: ["scored", (own) => own[0] !== "unscored"],
    unscored: ["unscored", (own) => own[0] === "unscored"],
  };
  const shows = (own, outcome) =>
    own !== null && (OUTCOMES[outcome] ? OUTCOMES[outcome][1](own) : own.includes(outcome));
  const titleOf = (outcome) =>
    index.errors.find(([name]) => name === outcome)?.[1] ?? OUTCOMES[outcome]?.[0] ?? outcome;
  const styleOf = (outcome) => {
    const place = index.errors.findIndex(([name]) => name === outcome);
    return place < 0 ? outcome : `error-${place}`;
  };
  const say = (own) => (own === null ? "no answer" : own.map(titleOf).join(", "));

  // Values of what examples are labelled with, where there is more than one.
  function labels() {
    const found = new Map();
    for (const row of index.rows)
      for (const [name, values] of Object.entries(row.labels)) {
        if (!found.has(name)) found.set(name, new Set());
        values.forEach((value) => found.get(name).add(value));
      }
    return [...found].filter(([, values]) => values.size > 1)
      .map(([name, values]) => [name, [...values].sort()]);
  }

  function choose(chosen, context, shown, facets, found) {
    const wanted = facets.filter(([name]) => chosen[name]);
    const system = index.systems.indexOf(chosen.system);
    const [left, right] = shown.map((name) => index.systems.indexOf(name));
    return index.rows.filter((row) => {
      if (row.context !== context || (found && !found[row.place])) return false;
      if (!wanted.every(([name]) => row.labels[name]?.includes(chosen[name]))) return false;
      if (!chosen.outcome) return system < 0 || row.outcomes[system] !== null;
      if (chosen.outcome === "differ") return `${row.outcomes[left]}` !== `${row.outcomes[right]}`;
      const own = system < 0 ? row.outcomes : [row.outcomes[system]];
      return own.some((one) => shows(one, chosen.outcome));
    });
  }

  // ---- texts and tables ----

  const [CELL, TEXT, ROWS] = [1500, 6000, 40]; // what is shown at first
  const count = (number) => number.toLocaleString("en");

  // A text with its marks; the rest of a long one is a click away. Places count characters, as
  // Python does, and not UTF-16 units.
  function Words({ text, marks = [], begin = 0, most = TEXT }) {
    const [whole, setWhole] = useState(false);
    const points = useMemo(() => (marks.length || begin ? Array.from(text) : text), [text]);
    const end = whole ? points.length : Math.min(points.length, begin + most);
    const cut = (from, to) => {
      const part = points.slice(from, Math.min(to, end));
      return typeof part === "string" ? part : part.join("");
    };
    const parts = [];
    let place = begin;
    for (const mark of [...marks].sort((one, other) => one.start - other.start)) {
      if (mark.start < place || mark.start >= end) continue;
      parts.push(cut(place, mark.start), html`<mark class=${mark.style} title=${mark.why}
        onClick=${mark.point}>${cut(mark.start, mark.end)}${mark.number && html`<sup>${mark.number}</sup>`}</mark>`);
      place = mark.end;
    }
    return html`${parts}${cut(place, end)}${end < points.length && html` <button class="more"
      onClick=${() => setWhole(true)}>${count(points.length - end)} more characters</button>`}`;
  }

  function Grid({ table, findings = [], hot, point }) {
    const [whole, setWhole] = useState(false);
    const { columns, rows } = table;
    const marks = (row, column) => findings.filter(({ row: own, column: name }) => {
      const place = columns.indexOf(name); // of a column that is not there, the whole row
      return own === row && (place < 0 || place === column);
    });
    const cell = (text, own) => html`<td class=${own.length ? `error ${own[0].style} ${own.includes(hot) ? "hot" : ""}` : null}
      title=${own.map((one) => one.line).join("\n") || null} onClick=${own.length ? () => point(own[0]) : null}>
      ${text === null ? html`<span class="blank">empty</span>` : html`<${Words} text=${text} most=${CELL} />`}
      ${own.length > 0 && html`<sup>${own.map((one) => one.number).join(", ")}</sup>`}</td>`;
    const hidden = whole ? 0 : rows.length - ROWS;
    const marked = findings.filter((one) => one.row >= ROWS).length;
    return html`<div class="scroll" tabindex="0"><table>${table.title && html`<caption>${table.title}</caption>`}
      <thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${(hidden > 0 ? rows.slice(0, ROWS) : rows).map((cells, row) =>
        html`<tr>${cells.map((text, column) => cell(text, marks(row, column)))}</tr>`)}
        ${rows.length === 0 && html`<tr><td colspan=${columns.length}><span class="blank">no row</span></td></tr>`}</tbody></table>
      ${hidden > 0 && html`<button class="more" onClick=${() => setWhole(true)}>${count(hidden)} more
        rows${marked > 0 && `, with ${marked} errors`}</button>`}</div>`;
  }

  // ---- one example ----

  const quote = (value) => (value.length > CELL ? `${value.slice(0, CELL)} …` : value);

  function explain(finding, place) {
    const values = [["expected", finding.expected], ["got", finding.got]]
      .filter(([, value]) => value !== null).map(([word, value]) => [word, quote(value)]);
    const said = values.map(([word, value]) => `${word} ${value}`);
    const title = titleOf(finding.type);
    return { ...finding, values, title, number: place + 1, style: styleOf(finding.type),
      line: [title, ...said, finding.evidence].join("; ") };
  }

  const Badges = ({ own }) => own?.map((one) =>
    html`<span class=${`badge ${isError(one) ? "bad" : one}`}>${titleOf(one)}</span> `);

  function Answer({ answer, own, chooser }) {
    const [hot, setHot] = useState(null);
    const findings = useMemo(() => (answer?.findings ?? []).map(explain), [answer]);
    if (!answer) return html`<div class="answer"><h4>${chooser}</h4><p class="note">No answer.</p></div>`;
    const inText = findings.filter((one) => one.start !== null).map((one) => ({ ...one,
      style: `error ${one.style} ${hot === one ? "hot" : ""}`, why: one.line, point: () => setHot(one) }));
    const where = (one) => [one.row === null ? null : `row ${one.row + 1}`, one.column].filter(Boolean).join(", ");
    const part = ([some, all]) => (all > 1000 ? `${((100 * some) / all).toFixed(1)} %` : `${some} of ${all}`);
    const shares = index.shares.filter(([name]) => answer.shares[name])
      .map(([name, title]) => `${title} ${part(answer.shares[name])}`);
    const notes = [...shares, answer.ending === "length" && "cut at the token limit"].filter(Boolean);
    return html`<div class="answer"><h4>${chooser} <${Badges} own=${own} /></h4>
      ${answer.unscored && html`<p class="note">Not scored: ${answer.unscored}. ${answer.error}</p>`}
      ${answer.table ? html`<${Grid} table=${answer.table} findings=${findings} hot=${hot} point=${setHot} />`
        : "table" in answer ? html`<p class="note">No table: ${answer.unreadable}.</p>`
        : html`<p class="words" dir="auto"><${Words} text=${answer.text} marks=${inText} begin=${answer.begin} /></p>`}
      <ol class="findings">${findings.map((one) => html`<li class=${hot === one ? "hot" : ""}
        onMouseEnter=${() => setHot(one)} onMouseLeave=${() => setHot(null)}>
        <span class=${`chip ${one.style}`}>${one.title}</span> ${where(one)}
        ${one.values.map(([word, value]) => html` <span class="said">${word} <q>${value}</q></span>`)}
        <span class="evidence">${one.evidence}</span></li>`)}</ol>
      <p class="note">${notes.join(" · ")}</p>
      <${Raw} answer=${answer} /></div>`;
  }

  function Raw({ answer }) {
    const [shown, setShown] = useState(false);
    return html`<details onToggle=${(event) => setShown(event.target.open)}>
      <summary>Raw answer, ${count(answer.tokens)} tokens</summary>
      ${shown && html`<pre dir="auto"><${Words} text=${answer.text} /></pre>`}</details>`;
  }

  function Example({ row, shown, go, step, pieces }) {
    const [opened, setOpened] = useState(null);
    const [failed, setFailed] = useState("");
    const pane = useRef();
    useEffect(() => {
      let current = true;
      open(row.place).then(
        (example) => current && setOpened({ row, example }),
        (error) => current && setFailed(String(error)),
      );
      return () => (current = false);
    }, [row]);
    useLayoutEffect(() => pane.current?.closest(".pane").scrollTo(0, 0), [opened?.row]);
    useLayoutEffect(() => highlight(pane.current, pieces), [opened, pieces.join(" "), ...shown]);
    if (failed) return html`<p class="note">This example cannot be unpacked: ${failed}</p>`;
    if (opened === null) return html`<p class="note">Opening …</p>`;
    const { example, row: now } = opened;
    const { gold } = example;
    const [steps, lengths, kinds, reasons] = example.marks;
    const marks = Array.from(climb(steps), (start, n) =>
      ({ start, end: start + lengths[n], style: kinds[n], why: reasons[n] }));
    const distracted = marks.some((one) => one.style === "distractor");
    const place = (side) => index.systems.indexOf(shown[side]);
    const chooser = (side) => html`<select aria-label=${side ? "Right system" : "Left system"} value=${shown[side]}
      onChange=${(event) => go({ [side ? "b" : "a"]: event.target.value })}>
      ${index.systems.map((name) => html`<option>${name}</option>`)}</select>`;
    const sides = index.systems.length > 1 ? [0, 1] : [0];
    const wide = (gold?.columns?.length ?? 0) > 4;
    return html`<article class="example" ref=${pane} key=${now.place}>
      <div class="line"><button onClick=${() => go({ id: "" })} class="back">Back</button>
        <h2 dir="auto">${example.title}</h2><span class="space"></span>
        <button onClick=${() => step(-1)} title="k">Previous</button><button onClick=${() => step(1)} title="j">Next</button></div>
      <p class="note">${example.note}</p>
      ${example.query && html`<p class="query words" dir="auto"><b>Query.</b> <${Words} text=${example.query} /></p>`}
      <div class="strip">${index.systems.map((name, system) => html`<button aria-pressed=${shown.includes(name)}
        title="Show on the right; with Shift on the left" onClick=${(event) => go({ [event.shiftKey ? "a" : "b"]: name })}>
        ${name} <${Dot} own=${now.outcomes[system]} /></button>`)}</div>
      <details class="source" open><summary>What the model read
        ${marks.length > 0 && html`<small><mark class="fact">in scope</mark> belongs into the answer${distracted &&
          html`, <mark class="distractor">out of scope</mark> is a distractor`}</small>`}</summary>
        <div class="read" tabindex="0">${example.text && html`<p class="words" dir="auto"><${Words} text=${example.text} marks=${marks} /></p>`}
          ${example.tables.map((table) => html`<${Grid} table=${table} />`)}</div></details>
      <div class=${`answers ${wide ? "wide" : ""}`}>
        ${gold !== null && html`<div class="answer gold"><h4>What is right <small>gold</small></h4>
          ${gold.columns ? html`<${Grid} table=${gold} />` : html`<p class="words" dir="auto"><${Words} text=${gold} /></p>`}</div>`}
        ${sides.map((side) => html`<${Answer} key=${shown[side]} answer=${example.answers[place(side)]}
          own=${now.outcomes[place(side)]} chooser=${chooser(side)} />`)}</div></article>`;
  }

  // Marks what was searched for without a change to the page.
  function highlight(node, pieces) {
    if (!window.Highlight) return;
    const ranges = [];
    const walker = node && document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    while (pieces.length && walker?.nextNode() && ranges.length < 1000) {
      const text = walker.currentNode.data.toLowerCase();
      if (text.length !== walker.currentNode.data.length) continue; // places would be others
      for (const piece of pieces)
        for (let at = text.indexOf(piece); at >= 0; at = text.indexOf(piece, at + piece.length)) {
          const range = new Range();
          range.setStart(walker.currentNode, at);
          range.setEnd(walker.currentNode, at + piece.length);
          ranges.push(range);
        }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }

  // ---- the list ----

  const HEIGHT = 66; // pixels of a row, as in viewer.css

  const Dot = ({ own, name }) => html`<i class=${`dot ${own === null ? "none" : styleOf(own[0])}`}
    title=${name ? `${name}: ${say(own)}` : say(own)}></i>`;

  function List({ rows, current, address }) {
    const [top, setTop] = useState(0);
    const box = useRef();
    const place = rows.indexOf(current);
    useLayoutEffect(() => {
      if (place < 0 || !box.current) return;
      const { scrollTop, clientHeight } = box.current;
      if (place * HEIGHT < scrollTop) box.current.scrollTop = place * HEIGHT;
      if ((place + 1) * HEIGHT > scrollTop + clientHeight)
        box.current.scrollTop = (place + 1) * HEIGHT - clientHeight;
    }, [place]);
    const first = Math.max(0, Math.floor(Math.min(top, rows.length * HEIGHT) / HEIGHT) - 8);
    const last = first + Math.ceil(screen.height / HEIGHT) + 16;
    return html`<nav class="list" ref=${box} onScroll=${(event) => setTop(event.target.scrollTop)} aria-label="Examples">
      <div style=${{ height: `${rows.length * HEIGHT}px`, paddingTop: `${first * HEIGHT}px` }}>
      ${rows.slice(first, last).map((row) => html`<a class="row" key=${row.place} href=${address({ id: row.id })}
        aria-current=${row === current}><b dir="auto">${row.title}</b><span class="asked" dir="auto">${row.query || row.id}</span>
        <span class="dots">${row.outcomes.map((own, system) => html`<${Dot} own=${own} name=${index.systems[system]} />`)}</span></a>`)}
      </div></nav>`;
  }

  // ---- the table of systems ----

  function Systems({ rows, go, chosen }) {
    const columns = ["any-error", ...index.errors.map(([name]) => name), "abstention", "unscored"];
    const counted = index.systems.map((name, system) => {
      const own = rows.map((row) => row.outcomes[system]).filter((one) => one !== null);
      return { name, all: own.length, scored: own.filter((one) => one[0] !== "unscored").length,
        counts: columns.map((column) => own.filter((one) => shows(one, column)).length) };
    });
    const head = (name) => (name === "any-error" ? index.total : titleOf(name));
    const pick = (system, outcome) => () => go({ system, outcome });
    return html`<section class="systems"><h2>Systems on these ${count(rows.length)} examples</h2>
      <p class="note">Shares of the scored answers, in percent, with the number of answers. Choose a number to list its
        answers; choose an example to read it. Intervals and tests are among the results.</p>
      <div class="scroll" tabindex="0"><table class="numbers"><thead><tr><th scope="col">system</th><th scope="col">scored</th>
        ${columns.map((name) => html`<th scope="col">${isError(name) ? html`<span class=${`chip ${styleOf(name)}`}>${head(name)}</span>` : head(name)}</th>`)}</tr></thead>
      <tbody>${counted.map(({ name, all, scored, counts }) => html`<tr class=${name === chosen.system ? "total" : ""}>
        <th scope="row">${name}</th><td>${count(scored)}<small>of ${count(all)}</small></td>
        ${counts.map((n, place) => {
          const of = columns[place] === "unscored" ? all : scored;
          return html`<td class=${styleOf(columns[place])} style=${{ "--share": of ? `${Math.round((60 * n) / of)}%` : "0%" }}>
            <button onClick=${pick(name, columns[place])} disabled=${!n} aria-pressed=${name === chosen.system && columns[place] === chosen.outcome}>
            ${of ? ((100 * n) / of).toFixed(1) : "–"}<small>${count(n)}</small></button></td>`;
        })}</tr>`)}</tbody></table></div></section>`;
  }

  // ---- the whole ----

  const KEYS = [["j, k", "next, previous example"], ["/", "search"], ["a, b", "next system on the left, on the right"],
    ["Esc", "close the example, then clear the filters"], ["?", "keys and colours"]];

  function Select({ name, value, options, go }) {
    return html`<label>${name}<select value=${value ?? ""} onChange=${(event) => go({ [name]: event.target.value })}>
      <option value="">all</option>${options.map(([key, title]) => html`<option value=${key}>${title}</option>`)}</select></label>`;
  }

  function App() {
    const [chosen, setChosen] = useState(read);
    const [typed, setTyped] = useState(chosen?.q ?? "");
    const [ready, setReady] = useState(false); // to search
    const [help, setHelp] = useState(false);
    const [filters, setFilters] = useState(false); // shown on a phone
    const box = useRef();
    const facets = useMemo(labels, []);
    const contexts = Object.entries(index.contexts);
    const state = chosen ?? {};
    const context = state.context in index.contexts ? state.context : contexts.at(-1)[0];
    const known = (name) => index.systems.includes(name);
    const a = known(state.a) ? state.a : known(state.system) && state.system !== state.b ? state.system : index.systems[0];
    const b = known(state.b) ? state.b : index.systems.findLast((name) => name !== a) ?? a;
    const found = useMemo(() => (ready && typed.trim() ? search(typed) : null), [ready, typed]);
    const rows = useMemo(() => choose(state, context, [a, b], facets, found), [chosen, found, context, a, b]);
    const current = useMemo(() => index.rows.find((row) => row.id === state.id && row.context === context), [state.id, context]);
    const address = (changes) => write({ ...state, q: typed, ...changes });
    const follow = () => { // the address, at once: the next key may come before the event
      const now = read();
      setChosen(now);
      setTyped(now?.q ?? "");
    };
    const to = (hash) => {
      location.hash = hash;
      follow();
    };
    const instead = (hash) => { // no way back to what was there before
      location.replace(hash);
      follow();
    };
    const go = (changes) => to(address(changes));
    const step = (by) => {
      const place = rows.indexOf(current);
      const next = rows[place < 0 ? 0 : place + by];
      if (next) instead(address({ id: next.id }));
    };

    useEffect(() => {
      addEventListener("hashchange", follow);
      requestAnimationFrame(() => setTimeout(() => unpackWords().then(() => setReady(true))));
      document.getElementById("theme").onclick = () => {
        const root = document.documentElement;
        const dark = (root.style.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
        root.style.colorScheme = dark ? "light" : "dark";
      };
      document.getElementById("help").onclick = () => setHelp(true);
      document.body.dataset.ready = "yes"; // for who drives the page
      performance.mark("listed");
      return () => removeEventListener("hashchange", follow);
    }, []);
    useEffect(() => { // what is typed is in the address when the typing stops
      if (chosen === null || typed === (state.q ?? "")) return;
      const later = setTimeout(() => location.replace(address({})), 300);
      return () => clearTimeout(later);
    }, [typed]);
    useLayoutEffect(() => {
      document.body.dataset.view = chosen ? "examples" : "results";
      if (!chosen && location.hash.length > 1) document.getElementById(location.hash.slice(1))?.scrollIntoView();
    }, [chosen === null, location.hash]);
    useLayoutEffect(() => {
      const press = (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const field = event.target.closest?.("input, select, textarea");
        if (event.key === "Escape" && (help || field)) {
          setHelp(false);
          field?.blur();
        } else if (field) return;
        else if (event.key === "?") setHelp(true);
        else if (chosen === null) return;
        else if (event.key === "Escape") to(state.id ? address({ id: "" }) : write({ context: state.context }));
        else if (event.key === "j") step(1);
        else if (event.key === "k") step(-1);
        else if (event.key === "/") box.current.select();
        else if (event.key === "a" || event.key === "b") {
          const now = index.systems.indexOf(event.key === "a" ? a : b);
          instead(address({ [event.key]: index.systems[(now + 1) % index.systems.length] }));
        } else return;
        event.preventDefault();
      };
      addEventListener("keydown", press);
      return () => removeEventListener("keydown", press);
    });

    const set = [state.system, state.outcome, typed, ...facets.map(([name]) => state[name])].filter(Boolean).length;
    const all = index.rows.filter((row) => row.context === context).length;
    const outcomes = [["any-error", OUTCOMES["any-error"][0]], ...index.errors, ...Object.entries(OUTCOMES).slice(1).map(([key, [title]]) => [key, title]),
      ...(index.systems.length > 1 ? [["differ", `${a} and ${b} differ`]] : [])];
    return html`<div class=${`viewer ${current ? "reading" : ""}`} data-words=${ready} data-searched=${found && typed}>
      <form class=${`filters ${filters ? "open" : ""}`} onSubmit=${(event) => event.preventDefault()}>
        <input type="search" ref=${box} value=${typed} placeholder="Search all texts (/)" aria-label="Search all texts"
          onInput=${(event) => setTyped(event.target.value)} />
        <button type="button" class="fold" onClick=${() => setFilters(!filters)} aria-expanded=${filters}>Filters${set > 0 && ` (${set})`}</button>
        ${contexts.length > 1 && html`<label>context<select value=${context} onChange=${(event) => go({ context: event.target.value })}>
          ${contexts.map(([key, title]) => html`<option value=${key}>${title}</option>`)}</select></label>`}
        <${Select} name="system" value=${state.system} options=${index.systems.map((name) => [name, name])} go=${go} />
        <${Select} name="outcome" value=${state.outcome} options=${outcomes} go=${go} />
        ${facets.map(([name, values]) => html`<${Select} name=${name} value=${state[name]} options=${values.map((one) => [one, one])} go=${go} />`)}
        <output>${typed.trim() && !ready ? "Reading the words …" : `${count(rows.length)} of ${count(all)}`}</output>
        ${set > 0 && html`<button type="button" onClick=${() => to(write({ context: state.context, id: state.id, a: state.a, b: state.b }))}>Clear</button>`}
      </form>
      <${List} rows=${rows} current=${current} address=${address} key=${context} />
      <div class="pane">${current
        ? html`<${Example} row=${current} shown=${[a, b]} go=${go} step=${step} pieces=${ready ? piecesOf(typed) : []} />`
        : html`<${Systems} rows=${rows} go=${go} chosen=${state} />`}</div></div>
      ${help && html`<div class="veil" onClick=${() => setHelp(false)}><div role="dialog" aria-modal="true" aria-label="Keys and colours" class="keys">
        <h2>Keys and colours</h2><dl>${KEYS.map(([keys, what]) => html`<dt>${keys.split(", ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd>`)}</dl>
        <p>${[...index.errors.map(([name]) => name), "right", "abstention", "unscored"].map((name) =>
          html`<span class="key"><${Dot} own=${[name]} />${titleOf(name)}</span> `)}</p>
        <p class="note">The address holds the filters and the open example: copy it to point somebody at what you see.</p></div></div>`}`;
  }

  unpack("index").then((unpacked) => {
    index = unpacked;
    index.rows.forEach((row, place) => (row.place = place));
    const link = document.getElementById("to-examples");
    link.textContent = `Examples (${count(new Set(index.rows.map((row) => row.id)).size)})`;
    render(html`<${App} />`, document.getElementById("viewer"));
  });
})();
