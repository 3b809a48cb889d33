// SPDX-License-Identifier: BSL-1.0
// The playground in headless Chromium, used as by a visitor: browser.mjs PAGE CHROMIUM check [PICTURE]
// or: times. Talks to Chromium by its debugging pipe.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { spawn } from "node:child_process";

const [page, chromium, what, picture] = process.argv.slice(2);
const profile = fs.mkdtempSync(path.join(os.tmpdir(), "bough-browser-"));
const child = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir=" + profile, "about:blank"],
                    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
let status = 1, faults = 0, number = 0, session, rest = "";
const open = new Map(), errors = [];
const deadline = setTimeout(() => { console.log("FAILED: no end after 240 s"); finish(); }, 240000);
function finish() {
  clearTimeout(deadline);
  child.kill("SIGKILL");
  child.once("exit", () => { fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 }); process.exit(status); });
}
child.stdio[4].on("data", data => {
  const parts = (rest + data).split("\0");
  rest = parts.pop();
  for (const part of parts) {
    const message = JSON.parse(part);
    if (message.method === "Runtime.exceptionThrown") errors.push(message.params.exceptionDetails.exception?.description ?? message.params.exceptionDetails.text);
    const waiting = open.get(message.id);
    open.delete(message.id);
    if (waiting) message.error ? waiting.reject(new Error(message.error.message)) : waiting.resolve(message.result);
  }
});
const send = (method, params = {}) => new Promise((resolve, reject) => {
  open.set(++number, { resolve, reject });
  child.stdio[3].write(JSON.stringify({ id: number, method, params, ...(session ? { sessionId: session } : {}) }) + "\0");
});
const evaluate = async expression => {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(expression + ": " + (exceptionDetails.exception?.description ?? exceptionDetails.text));
  return result.value;
};
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const expect = (right, text) => { if (!right) { console.log("FAILED: " + text); faults = 1; } };
const codes = { Tab: 9, Enter: 13, ArrowLeft: 37, ArrowRight: 39, ArrowDown: 40, " ": 32 };
async function press(key) {
  const event = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: codes[key], ...(key === "Enter" ? { text: "\r" } : {}) };
  await send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
}
async function load(link, width, height) {
  await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  await send("Page.navigate", { url: "about:blank" });
  await send("Page.navigate", { url: "file://" + page + link });
  for (let i = 0; i < 300 && (await evaluate("document.documentElement?.dataset.ready")) !== "1"; ++i) await pause(100);
}
const said = () => evaluate("document.getElementById('said').textContent");
const focused = () => evaluate("(e => e.id || e.getAttribute('aria-label') || e.textContent)(document.activeElement)");

try {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
  await send("Page.enable");
  await send("Runtime.enable");
  if (what === "check") {
    // By keyboard alone: from the first control on, each has the focus in turn.
    await load("#ranks=13", 1400, 1000);
    expect((await said()) === "Proved right", "the first plan is proved");
    const met = [];
    for (let i = 0; i < 45; ++i) { await press("Tab"); met.push(await focused()); }
    for (const name of ["link", "theme", "collective", "algorithm", "ranks", "blocks", "bytes", "network", "beside", "break", "play", "time", "rank", "Change step 0 of rank 0", "Delete step 0 of rank 0"])
      expect(met.includes(name), "Tab reaches " + name);
    await evaluate("document.getElementById('time').focus()");
    const end = await evaluate("now");
    await press("ArrowLeft");
    expect((await evaluate("now")) < end, "an arrow key moves the time");
    await evaluate("document.getElementById('to_begin').focus()");
    await press("Enter");
    expect((await evaluate("now")) === 0, "to the beginning");
    await evaluate("document.getElementById('next').focus()");
    for (let i = 0; i < 4; ++i) await press("Enter");
    const third = await evaluate("now");
    expect(third > 0 && third < end, "event by event");
    if (picture) {
      await evaluate("setTime(now * 1.9)");
      await send("Emulation.setDeviceMetricsOverride", { width: 1400, height: 1500, deviceScaleFactor: 1, mobile: false });
      fs.writeFileSync(picture, Buffer.from((await send("Page.captureScreenshot", { format: "png" })).data, "base64"));
    }
    // A step is deleted, changed and brought back.
    await evaluate("document.querySelector('[aria-label=\"Delete step 0 of rank 0\"]').focus()");
    await press("Enter");
    expect((await said()).startsWith("Wrong: rank "), "a deleted step makes the plan wrong: " + await said());
    expect((await evaluate("location.hash")).includes("edit=0.0.drop"), "the link has the change");
    await evaluate("document.getElementById('mend').focus()");
    await press("Enter");
    expect((await said()) === "Proved right", "undone");
    await evaluate("state.rank = '0', showSteps(), document.querySelector('[aria-label=\"Change step 2 of rank 0\"]').focus()");
    await press("Enter");
    expect(await evaluate("document.activeElement.closest('.change') !== null"), "the form of a step has the focus");
    await evaluate("document.querySelector('.change [name=peer]').value = '3', document.querySelector('.change').requestSubmit()");
    expect((await said()).startsWith("Wrong: "), "another peer makes the plan wrong");
    expect((await evaluate("plan.run.stuck !== null && document.querySelector('tr.changed, tr.fault') !== null")), "it hangs, and the step is marked");
    // Form elements, a refusal, the link.
    await evaluate("choose('collective', 'reduce'), choose('algorithm', 'kary'), choose('ranks', 9), choose('root', 20)");
    expect(await evaluate("!document.getElementById('refused').hidden"), "a root that there is not is refused");
    await evaluate("choose('root', 4), choose('degree', 3), choose('beside', 'flat')");
    expect((await said()) === "Proved right", "and the next plan is proved");
    const link = await evaluate("linkOf()");
    const before = await evaluate("document.getElementById('asked').textContent + document.getElementById('cpp').textContent");
    await load(link, 360, 780);
    expect((await evaluate("document.getElementById('asked').textContent + document.getElementById('cpp').textContent")) === before, "the link brings the state back");
    // Widths: nothing is wider than the window; every control is there.
    for (const width of [360, 500, 1400]) {
      await load("#collective=broadcast&algorithm=fnomial&ranks=40&edit=3.0.twice&beside=chain", width, 780);
      const wide = await evaluate("document.documentElement.scrollWidth");
      expect(wide <= width, `at ${width} pixels the page has ${wide}`);
      expect(await evaluate("[...document.querySelectorAll('button, select, input')].filter(e => e.offsetParent).every(e => e.getBoundingClientRect().right <= innerWidth + 1 || e.closest('.scroll'))"), `controls fit ${width} pixels`);
    }
    expect(await evaluate("[...document.querySelectorAll('input, select, button')].every(e => e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())"), "every control has a name");
    // The map.
    await evaluate("choose('collective', 'barrier')");
    for (let i = 0; i < 300 && await evaluate("map.todo.length"); ++i) await pause(100);
    expect(await evaluate("document.querySelectorAll('#legend li').length > 0 && document.querySelectorAll('#map td:empty').length === 0"), "the map is full");
    expect(errors.length === 0, "errors in the page: " + errors.join("; "));
  } else {
    await load("", 1400, 1000);
    const times = await evaluate(`(() => {
      const found = [];
      for (const c of catalogue.collectives) for (const a of c.algorithms) {
        Object.assign(state, defaults, { collective: c.name, algorithm: a.name, ranks: "256", model: defaults.model });
        let least = Infinity;
        for (let i = 0; i < 2; ++i) { update.spent = Infinity; update(); least = Math.min(least, update.spent); }
        if ($("refused").hidden) found.push([c.name + " " + a.name, least]);
      }
      return found.sort((a, b) => b[1] - a[1]);
    })()`);
    console.log("256 ranks, answer and drawing, ms (the slowest ten of " + times.length + "):");
    for (const [name, ms] of times.slice(0, 10)) console.log(`${name}: ${ms.toFixed(0)}`);
  }
  status = faults;
} catch (error) { console.log("FAILED: " + error.message); }
finish();
