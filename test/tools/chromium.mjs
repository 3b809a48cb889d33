// SPDX-License-Identifier: BSL-1.0
// A page in headless Chromium, used as by a visitor, over Chromium's debugging pipe:
//
//   browse(chromium, use, seconds)    opens one, runs use(page), and ends the process with 0, or with 1 where an
//                                     expect() did not hold, something was thrown, or it took longer
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { spawn } from "node:child_process";

const codes = { Tab: 9, Enter: 13, ArrowLeft: 37, ArrowRight: 39, ArrowDown: 40, " ": 32 };

export async function browse(chromium, use, seconds = 240) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "bough-browser-"));
  const child = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir=" + profile, "about:blank"],
                      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  let status = 1, faults = 0, number = 0, session, rest = "";
  const open = new Map(), errors = [];
  const deadline = setTimeout(() => { console.log(`FAILED: no end after ${seconds} s`); finish(); }, 1000 * seconds);
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
  const resize = (width, height) => send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  const page = {
    send, evaluate, pause, resize, errors,
    expect: (right, text) => { if (!right) { console.log("FAILED: " + text); faults = 1; } },
    async press(key) {
      const event = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: codes[key], ...(key === "Enter" ? { text: "\r" } : {}) };
      await send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    },
    // Opens an address, until `ready` holds there.
    async load(address, ready) {
      await send("Page.navigate", { url: "about:blank" });
      await send("Page.navigate", { url: address });
      for (let i = 0; i < 300 && !(await evaluate(ready)); ++i) await pause(i < 20 ? 5 : 100);
    },
    async picture(file) {
      fs.writeFileSync(file, Buffer.from((await send("Page.captureScreenshot", { format: "png" })).data, "base64"));
    },
  };
  try {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    await send("Page.enable");
    await send("Runtime.enable");
    await use(page);
    status = faults;
  } catch (error) { console.log("FAILED: " + error.message); }
  finish();
}
