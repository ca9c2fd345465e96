"use strict";
// One state at a time: the one that the address names. Every way to step changes the address.
(() => {
  const chapters = [...document.querySelectorAll("article")];
  const stepper = document.querySelector(".stepper");
  const named = () => document.getElementById(location.hash.slice(1));
  const beside = document.querySelector("main").matches(".beside");
  let chapter, step;

  // What a link leads to. A link to a run opens it, and the keys step through the run's own trace from then on.
  function follow(spoken) {
    const target = named(), run = target && target.matches(".run") ? target : null;
    if (run) {
      run.open = true;
      if (run.dataset.start) show(document.getElementById(run.dataset.start), spoken);
      run.scrollIntoView();
    } else if (chapters.length) {
      show(target, spoken);
      reveal();
    }
  }

  const states = () => [...chapter.querySelectorAll("section")];

  function show(target, spoken) {
    const inTrace = target && target.closest("article");
    const state = inTrace && (target.closest("section") || target.querySelector("section"));
    step = state ? Number(state.dataset.step) : 1;
    chapter = state && !beside ? inTrace : chapters[0];  // beside each other, the first is the longer
    for (const other of chapters) {
      other.hidden = !beside && other !== chapter;
      if (!other.hidden) showStep(other);
    }
    for (const link of document.querySelectorAll("nav a")) {
      if (link.dataset.chapter === chapter.id) {
        link.setAttribute("aria-current", "true");
        const folded = link.closest("details");
        if (folded) folded.open = true;
      } else link.removeAttribute("aria-current");
    }
    stepper.querySelector("output").textContent = `${step} / ${states().length}`;
    if (spoken) {
      const headings = [...document.querySelectorAll("section:not([hidden]) h2")].filter(it => it.checkVisibility());
      document.querySelector(".spoken").textContent = headings.map(it => it.textContent.trim()).join("; ");
    }
  }

  // Scrolls to the trace unless it is in view already: all of it, or most of the window.
  function reveal() {
    const trace = chapter.querySelector(".columns"), box = trace.getBoundingClientRect();
    const room = innerHeight - stepper.offsetHeight;
    const seen = Math.min(box.bottom, room) - Math.max(box.top, 0);
    if (seen + 1 < Math.min(box.height, 0.6 * room)) trace.scrollIntoView();
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
    history.replaceState(null, "", `#${chapter.id}-s${next}`);
    follow(true);
  }

  addEventListener("hashchange", () => follow(true));
  if (chapters.length) {
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
    show(document.getElementById(document.querySelector("main").dataset.start ?? ""), false);
  }
  if (named()) follow(false);
})();
