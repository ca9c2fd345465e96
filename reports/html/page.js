"use strict";
// One state at a time: the one that the address names. Every way to step changes the address.
(() => {
  const chapters = [...document.querySelectorAll("article")];
  const stepper = document.querySelector(".stepper");
  const named = () => location.hash.slice(1);

  // A link to a run opens it; there may be runs without a trace to step through.
  function openRun(name) {
    const target = document.getElementById(name), isRun = Boolean(target) && target.matches("details");
    if (isRun) target.open = true;
    return isRun;
  }

  openRun(named());
  addEventListener("hashchange", () => { if (!openRun(named()) && chapters.length) show(named(), true); });
  if (!chapters.length) return;
  const beside = document.querySelector("main").matches(".beside");
  let chapter, step;

  const states = () => [...chapter.querySelectorAll("section")];

  function show(name, spoken) {
    const state = document.getElementById(name);
    const found = state && state.matches("section") ? state : null;
    step = found ? Number(found.dataset.step) : 1;
    chapter = found && !beside ? found.closest("article") : chapters[0];  // beside each other, the first is the longer
    for (const other of chapters) {
      other.hidden = !beside && other !== chapter;
      if (!other.hidden) showStep(other);
    }
    for (const link of document.querySelectorAll("nav a")) {
      if (link.dataset.chapter === chapter.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    stepper.querySelector("output").textContent = `${step} / ${states().length}`;
    if (spoken) {
      const headings = [...document.querySelectorAll("section:not([hidden]) h2")].filter(it => it.checkVisibility());
      document.querySelector(".spoken").textContent = headings.map(it => it.textContent.trim()).join("; ");
    }
  }

  // A trace that is shorter than the one beside it stays at its end.
  function showStep(shown) {
    const sections = [...shown.querySelectorAll("section")], now = Math.min(step, sections.length);
    sections.forEach(section => { section.hidden = Number(section.dataset.step) !== now; });
    shown.classList.toggle("ended", step > now);
    for (const part of shown.querySelectorAll(".diagram [data-step]")) {
      const at = Number(part.dataset.step);
      part.classList.toggle("now", at === now);
      part.classList.toggle("later", at > now);
      if (part.matches("a")) {
        if (at === now) part.setAttribute("aria-current", "step"); else part.removeAttribute("aria-current");
      }
    }
    const diagram = shown.querySelector(".diagram"), band = diagram.querySelector(".band.now");
    diagram.scrollTop = Number(band.getAttribute("y")) - diagram.clientHeight / 2;
  }

  function go(to) {
    const count = states().length;
    const next = { first: 1, back: Math.max(step - 1, 1), on: Math.min(step + 1, count), last: count }[to];
    const name = `${chapter.id}-s${next}`;
    history.replaceState(null, "", `#${name}`);
    show(name, true);
  }

  const keys = { ArrowRight: "on", ArrowLeft: "back", Home: "first", End: "last", j: "on", k: "back" };
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey || !keys[event.key]) return;
    event.preventDefault();
    go(keys[event.key]);
  });
  stepper.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (button) go(button.dataset.go);
  });

  document.documentElement.classList.add("stepping");
  stepper.hidden = false;
  show(named() || document.querySelector("main").dataset.start, false);
})();
