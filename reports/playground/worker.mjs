// Runs leadline in a worker of its own, so that the page can end a search by ending the worker.
import { loadPyodide } from "./pyodide.mjs";

async function bytes(name) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`cannot load ${name}: ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

const ready = (async () => {
  const python = await loadPyodide({ indexURL: new URL(".", import.meta.url).href });
  python.unpackArchive(await bytes("packages.zip"), "zip", { extractDir: "/packages" });
  python.FS.writeFile("/packages/search_in_browser.py", await bytes("search.py"));
  python.runPython("import sys; sys.path.insert(0, '/packages')");
  return python.pyimport("search_in_browser");
})();

ready.then(
  () => postMessage({ kind: "ready" }),
  (error) => postMessage({ kind: "failed", text: String(error.message) }),
);

onmessage = async ({ data }) => {
  try {
    const found = (await ready).search(data.source, data.spec, data.bounds, (text) => postMessage({ kind: "progress", text }));
    const [text, page] = found.toJs();
    found.destroy();
    postMessage({ kind: "found", text, page });
  } catch (error) {
    postMessage({ kind: "failed", text: String(error.message).trim().split("\n").at(-1) });
  }
};
