"use strict";
// One state at a time: the one that the address names. Every way to step changes the address.
(() => {
  const chapters = [...document.querySelectorAll("article")];
  const stepper = document.querySelector(".stepper");
  if (!chapters.length) return;
  let chapter, step;

  const states = () => [...chapter.querySelectorAll("section")];

  function show(name, spoken) {
    const state = document.getElementById(name);
    const found = state && state.matches("section") ? state : null;
    chapter = found ? found.closest("article") : chapters[0];
    step = found ? Number(found.dataset.step) : 1;
    chapters.forEach(other => { other.hidden = other !== chapter; });
    states().forEach(other => { other.hidden = Number(other.dataset.step) !== step; });
    for (const part of chapter.querySelectorAll(".diagram [data-step]")) {
      const at = Number(part.dataset.step);
      part.classList.toggle("now", at === step);
      part.classList.toggle("later", at > step);
      if (part.matches("a")) {
        if (at === step) part.setAttribute("aria-current", "step"); else part.removeAttribute("aria-current");
      }
    }
    for (const link of document.querySelectorAll("nav a")) {
      if (link.dataset.chapter === chapter.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    const count = states().length;
    stepper.querySelector("output").textContent = `${step} / ${count}`;
    const diagram = chapter.querySelector(".diagram"), band = diagram.querySelector(".band.now");
    const middle = Number(band.getAttribute("y")) - diagram.clientHeight / 2;
    diagram.scrollTop = middle;
    if (spoken) {
      const heading = states()[step - 1].querySelector("h2").textContent;
      document.querySelector(".spoken").textContent = heading.trim();
    }
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
  addEventListener("hashchange", () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.matches("details")) target.open = true;
    else show(location.hash.slice(1), true);
  });

  document.documentElement.classList.add("stepping");
  stepper.hidden = false;
  show(location.hash.slice(1), false);
})();
