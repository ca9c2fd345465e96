"use strict";
// Shows one state at a time: the one in the fragment of the address. Every step changes the fragment.
(() => {
  const chapters = [...document.querySelectorAll("article")];
  const stepper = document.querySelector(".stepper");
  const named = () => document.getElementById(location.hash.slice(1));
  const isFramed = location.protocol === "about:";
  const beside = document.querySelector("main").matches(".beside");
  const opening = () => document.getElementById(document.querySelector("main").dataset.start ?? chapters[0].dataset.start);
  let chapter, step;

  // The target of a link. A link to a run opens it, and the keys then step through the run's own trace.
  function follow(spoken) {
    const target = named(), run = target && target.matches(".run") ? target : null;
    if (run) {
      run.open = true;
      if (run.dataset.start) show(document.getElementById(run.dataset.start), spoken);
      run.scrollIntoView();
    } else if (chapters.length) {
      show(location.hash ? target : opening(), spoken);
      reveal();
    }
  }

  const states = () => [...chapter.querySelectorAll("section")];
  const choices = () => chapter.querySelectorAll("section:not([hidden]) .choices a");

  function show(target, spoken) {
    const inTrace = target && target.closest("article");
    const state = inTrace && (target.closest("section") || document.getElementById(inTrace.dataset.start));
    step = state ? Number(state.dataset.step) : 1;
    chapter = state && !beside ? inTrace : chapters[0];  // side by side, the first one is the longest
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
      const headings = [...document.querySelectorAll("article section:not([hidden]) h2")].filter(it => it.checkVisibility());
      document.querySelector(".spoken").textContent = headings.map(it => it.textContent.trim()).join("; ");
    }
  }

  const isWide = () => matchMedia("(min-width: 901px)").matches;

  // Scrolls to the state and its diagram, unless the heading and enough of both are visible already.
  function reveal() {
    const room = innerHeight - stepper.offsetHeight, inView = box => box.top >= 0 && box.bottom <= room;
    const heading = chapter.querySelector("section:not([hidden]) h2");
    const whole = isWide() ? chapter.querySelector(".columns") : heading.closest("section");
    const box = whole.getBoundingClientRect(), seen = Math.min(box.bottom, room) - Math.max(box.top, 0);
    const enough = !isWide() || seen + 1 >= Math.min(box.height, 0.5 * room);
    if (!enough || !inView(heading.getBoundingClientRect())) whole.scrollIntoView();
  }

  // A trace that is shorter than the one beside it stays at its end.
  function showStep(shown) {
    const sections = [...shown.querySelectorAll("section")], now = Math.min(step, sections.length);
    sections.forEach(section => { section.hidden = Number(section.dataset.step) !== now; });
    shown.classList.toggle("ended", step > now);
    for (const part of shown.querySelectorAll(".diagram [data-step], .happened [data-step]")) {
      const at = Number(part.dataset.step);
      part.classList.toggle("now", at === now);
      part.classList.toggle("later", at > now);
      if (part.matches("a")) {
        if (at === now) part.setAttribute("aria-current", "step"); else part.removeAttribute("aria-current");
      }
    }
    const diagram = shown.querySelector(".diagram"), band = diagram.querySelector(".band.now");
    fit(diagram);
    diagram.scrollTop = Number(band.getAttribute("y")) - diagram.clientHeight / 2;
  }

  // Makes a diagram end at the bottom of the first screen, if that leaves enough of it.
  function fit(diagram) {
    if (beside || !isWide()) {
      diagram.style.maxHeight = "";
      return;
    }
    const above = scrollY + diagram.closest(".columns").getBoundingClientRect().top;
    const room = innerHeight - stepper.offsetHeight - 16;
    diagram.style.maxHeight = `${Math.max(room - above, 0.4 * room)}px`;
  }

  function go(to) {
    const count = states().length;
    const next = { first: 1, back: Math.max(step - 1, 1), on: Math.min(step + 1, count), last: count }[to];
    const address = `#${chapter.id}-s${next}`;
    if (isFramed) location.hash = address;
    else history.replaceState(null, "", address);
    follow(true);
  }

  // In a table that is wider than its container, the arrow keys scroll.
  function scrollsSideways(focused) {
    return focused.matches(".wide") && focused.scrollWidth > focused.clientWidth;
  }

  // In a frame of a notebook, the page has no address of its own, and its links would lead to the notebook.
  if (isFramed) document.addEventListener("click", event => {
    const link = event.target.closest("a[href^='#']");
    if (!link) return;
    event.preventDefault();
    location.hash = link.getAttribute("href");
  });

  addEventListener("hashchange", () => follow(true));
  if (chapters.length) {
    const keys = { ArrowRight: "on", ArrowLeft: "back", Home: "first", End: "last" };
    document.addEventListener("keydown", event => {
      if (event.ctrlKey || event.altKey || event.metaKey || scrollsSideways(event.target)) return;
      if (/^[1-9]$/.test(event.key)) choices()[event.key - 1]?.click();
      if (!keys[event.key]) return;
      event.preventDefault();
      go(keys[event.key]);
    });
    stepper.addEventListener("click", event => {
      const button = event.target.closest("button");
      if (button) go(button.dataset.go);
    });
    document.documentElement.classList.add("stepping");
    stepper.hidden = false;
    show(opening(), false);
    addEventListener("resize", () => fit(chapter.querySelector(".diagram")));
  }

  // A printed page contains all states of the trace that is shown, and all folded parts.
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
  });

  // The buttons that download the files or the diagram of a trace, or copy the command.
  function save(name, type, content) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "paint-order", "opacity", "font-size",
    "font-weight", "text-anchor"];

  // The diagram with the names of its lanes as a separate picture, in the style of the page.
  function picture(article) {
    const parts = [...article.querySelectorAll(".diagram svg")];
    const height = parts.reduce((sum, part) => sum + Number(part.getAttribute("height")), 0);
    const whole = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const width = parts[0].getAttribute("width");
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) {
      whole.setAttribute(name, value);
    }
    whole.setAttribute("style", `background: ${getComputedStyle(document.body).backgroundColor}`);
    whole.setAttribute("font-family", "sans-serif");
    let top = 0;
    for (const part of parts) {
      const copy = part.cloneNode(true), shapes = copy.querySelectorAll("*");
      part.querySelectorAll("*").forEach((shape, place) => {
        const style = getComputedStyle(shape);
        shapes[place].removeAttribute("href");
        shapes[place].setAttribute("style", DRAWN.map(name => `${name}: ${style.getPropertyValue(name)}`).join("; "));
      });
      copy.setAttribute("y", top);
      copy.removeAttribute("class");
      top += Number(part.getAttribute("height"));
      whole.append(copy);
    }
    return new XMLSerializer().serializeToString(whole);
  }

  const DENSITY = 2, HIGHEST = 32767;  // pixels of the picture for one of the page; of the highest canvas

  // The same picture in pixels, for programs that do not accept SVG.
  async function pixels(article) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture(article))}`;
    await image.decode();
    const canvas = document.createElement("canvas"), scale = Math.min(DENSITY, HIGHEST / image.height);
    canvas.width = scale * image.width;
    canvas.height = scale * image.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise(done => canvas.toBlob(done, "image/png"));
  }

  document.addEventListener("click", async event => {
    const { file, svg, png, copy } = event.target.closest("button")?.dataset ?? {};
    if (file) {
      const kept = document.getElementById(file);
      save(kept.dataset.name, "text/plain", kept.textContent);
    }
    if (svg) save("trace.svg", "image/svg+xml", picture(document.getElementById(svg)));
    if (png) save("trace.png", "image/png", await pixels(document.getElementById(png)));
    if (copy) navigator.clipboard?.writeText(copy);
  });
  for (const it of document.querySelectorAll(".files, [data-copy]")) it.hidden = false;
  if (named()) follow(false);
})();
