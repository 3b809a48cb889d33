// SPDX-License-Identifier: BSL-1.0
// The guides and the reference in headless Chromium: pages.mjs SITE CHROMIUM [all]
// Without `all`, some pages of each kind are opened, and not every one.
import fs from "node:fs";
import path from "node:path";
import { browse } from "./chromium.mjs";

const [site, chromium, all] = process.argv.slice(2);
const pages = fs.readdirSync(site, { recursive: true }).filter(name => name.endsWith(".html") && name !== "playground.html").sort();
const some = ["index.html", "doc/howto/index.html", "doc/algorithms/table.html", "doc/papers/moody.html", "doc/tools.html", "reference/index.html",
              "reference/names.html", "reference/bough/allreduce.html", "reference/bough/concepts/transport.html", "reference/bough/nic/machine.html"];
const chosen = all ? pages : [...some, ...pages.filter((name, i) => i % 40 === 7)];

browse(chromium, async ({ load, evaluate, expect, press, pause, resize, send, errors }) => {
  const ready = "document.readyState === 'complete' && location.href !== 'about:blank'";
  for (const width of [360, 1400]) {
    await resize(width, 800);
    for (const name of chosen) {
      await load("file://" + path.join(site, name), ready);
      const wide = await evaluate("document.documentElement.scrollWidth");
      expect(wide <= width, `${name}: at ${width} pixels it has ${wide}`);
      expect((await evaluate("document.querySelector('main').innerText.trim().length")) > 20, `${name} is empty`);
    }
  }
  // Text and ground differ enough to be read (WCAG: 4.5 to 1), in light and dark.
  const contrast = `(() => {
    const light = text => { const c = text.match(/[0-9.]+/g).slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
    const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$|transparent/.test(c)) return c; } };
    let least = [99, ""];
    for (const e of document.querySelectorAll("main p, main td, main th, main code, main pre span, main a, nav a, h1, h2, small")) {
      const a = light(getComputedStyle(e).color), b = light(ground(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < least[0]) least = [ratio, e.outerHTML.slice(0, 80)];
    }
    return least;
  })()`;
  for (const colours of ["light", "dark"]) {
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: colours }] });
    for (const name of some.slice(0, 8)) {
      await load("file://" + path.join(site, name), ready);
      const [ratio, where] = await evaluate(contrast);
      expect(ratio >= 4.5, `${name}, ${colours}: contrast of ${ratio.toFixed(2)} at ${where}`);
    }
  }
  // Search, by keyboard: the name itself comes first, and Enter goes there.
  for (const [query, page] of [["allreduce", "reference/bough/allreduce.html#allreduce"], ["StepSink", "reference/bough/concepts/step_sink.html#StepSink"],
                               ["nosuchname", ""], ["schedule_of", "#plan.schedule_of"], ["your first collective", "doc/tutorial/01"],
                               ["MPI_SUM", "doc/faq.html#coming-from-mpi"], ["MPI_Barrier", "reference/bough/barrier.html#barrier"], ['"bitwise reproducible"', "doc/concepts/reproducible_sums.html"],
                               ["--neighbours", "neighbours"]]) {
    await load("file://" + path.join(site, "doc/concepts/op.html"), ready);
    await press("/");
    expect((await evaluate("document.activeElement.id")) === "search", "/ goes to the search");
    await send("Input.insertText", { text: query });
    for (let i = 0; i < 100 && await evaluate("index === null || list.hidden"); ++i) await pause(50);
    const first = await evaluate("list.querySelector('a')?.href ?? ''");
    if (page === "") { expect(first === "", `nothing is found for ${query}`); continue; }
    expect(first.includes(page), `${query} leads to ${first}`);
    await press("Enter");
    let opened = ""; // (in between there is nothing to ask)
    for (let i = 0; i < 100 && opened !== first; ++i) { await pause(20); opened = await evaluate("location.href").catch(() => ""); }
    expect(opened === first, `Enter opens ${first}, and not ${opened}`);
  }
  // A part of a word is worth less than a word: who looks for hang does not want exchange.
  await load("file://" + path.join(site, "doc/concepts/op.html"), ready);
  await press("/");
  await send("Input.insertText", { text: "hang" });
  for (let i = 0; i < 100 && await evaluate("index === null || list.hidden"); ++i) await pause(50);
  expect(await evaluate("find('hang').slice(0, 5).every(found => /\\bhang/i.test(found.title + ' ' + found.text))"), "hang is found as a word first");
  // The menu of a small window, and the colours.
  await resize(360, 800);
  await load("file://" + path.join(site, "index.html"), ready);
  expect(!(await evaluate("menu.open")), "the menu is closed in a small window");
  await evaluate("menu.querySelector('summary').click()");
  expect(await evaluate("[...document.querySelectorAll('nav a')].some(a => a.offsetParent && a.textContent === 'Reference')"), "and opens");
  for (const theme of ["light", "dark"]) {
    await evaluate("button.click()");
    expect((await evaluate("document.documentElement.dataset.theme")) === theme, "a press chooses " + theme);
  }
  expect(errors.length === 0, "errors in the pages: " + errors.join("; "));
  console.log(`${chosen.length} of ${pages.length} pages opened, at 360 and 1400 pixels`);
}, all ? 3600 : 240);
