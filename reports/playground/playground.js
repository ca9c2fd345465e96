// The page: it hands a spec to the worker, and shows the page of the result.
const at = (id) => document.getElementById(id);
const inputs = ["spec", "bounds", "search", "source"].map(at);
let worker;

function say(text) {
  at("said").textContent = text;
}

function isRunning(running) {
  for (const input of inputs) input.disabled = running;
  at("stop").disabled = !running;
  at("source").disabled = running || at("spec").value !== "";
}

function begin(text) {
  say(text);
  isRunning(true);
  at("stop").disabled = true;
  worker = new Worker("worker.mjs", { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.kind === "progress") return say(data.text);
    if (data.kind === "found") at("result").srcdoc = data.page;
    say(data.kind === "ready" ? "ready" : data.text);
    isRunning(false);
  };
  worker.onerror = (event) => say(`the worker failed: ${event.message}`);
}

at("search").onclick = () => {
  isRunning(true);
  say("searching…");
  at("result").srcdoc = "";
  const spec = at("spec").value;
  worker.postMessage({ spec, source: spec ? "" : at("source").value, bounds: at("bounds").value });
};

at("stop").onclick = () => {
  worker.terminate();
  begin("stopped; loading Python again…");
};

at("spec").onchange = () => isRunning(false);

at("source").value = await (await fetch("counter.py")).text();
begin("loading Python…");
