// SPDX-License-Identifier: BSL-1.0
// The playground in headless Chromium, used as by a visitor: browser.mjs PAGE CHROMIUM check [PICTURE]
// or: times.
import { browse } from "./chromium.mjs";

const [page, chromium, what, picture] = process.argv.slice(2);
browse(chromium, async shown => {
  const { evaluate, expect, press, pause, resize, errors } = shown;
  const said = () => evaluate("document.getElementById('said').textContent");
  const focused = () => evaluate("(e => e.id || e.getAttribute('aria-label') || e.textContent)(document.activeElement)");
  async function load(link, width, height) {
    await resize(width, height);
    await shown.load("file://" + page + link, "document.documentElement?.dataset.ready === '1'");
  }
  if (what === "check") {
    // In a window that gets its scroll bar only when all is drawn.
    await load("#collective=reduce&algorithm=fnomial&degree=3&ranks=20&beside=binomial", 1400, 2400);
    for (const id of ["run", "graph"])
      expect(await evaluate(`$("${id}").clientWidth <= $("${id}_frame").clientWidth`), id + " is not cut off at the right");
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
      await resize(1400, 1500);
      await shown.picture(picture);
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
    // A long schedule is shown in part, with the step at fault, until all of it is asked for.
    const rows = () => evaluate("document.querySelectorAll('#steps tbody tr:not(.form)').length");
    await evaluate("choose('algorithm', 'ring'), choose('ranks', 64)");
    const all = await evaluate("library.ask('steps', questionOf(planKeys) + '&rank=0').steps.length");
    expect(all > 150 && (await rows()) === 100, `the first 100 of ${all} steps: ${await rows()}`);
    await evaluate("setEdits('0', 150, ['0.150.drop']), state.rank = '0', showSteps()");
    expect((await rows()) >= 151 && (await evaluate("document.querySelector('tr.dropped') !== null")), "a deleted step is shown, however late it is");
    await evaluate("document.querySelector('#steps tr:last-child button').focus()");
    await press("Enter");
    expect((await rows()) === all, "all steps");
    expect((await focused()).startsWith("Change step"), "the focus is on the next step: " + await focused());
    await evaluate("state.edit = '', choose('ranks', 13), choose('algorithm', defaults.algorithm)");
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
});
