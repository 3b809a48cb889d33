// SPDX-License-Identifier: BSL-1.0
// The playground's library as the page has it, asked from Node: playground.mjs PAGE check|times [RANKS,...]
//   check   a few plans, and refusals: what the page needs to work
//   times   how long an answer takes, by ranks and algorithm: the proof, the run, the JSON
import fs from "node:fs";
import zlib from "node:zlib";

const [page, what, list = "16,64,256"] = process.argv.slice(2);
const packed = fs.readFileSync(page, "utf8").match(/id="module">\s*([A-Za-z0-9+/=]+)\s*</)[1];
const module = new WebAssembly.Module(zlib.gunzipSync(Buffer.from(packed, "base64")));
let library;
const textAt = at => {
  const memory = new Uint8Array(library.memory.buffer);
  return new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
};
const imports = {};
for (const { module: from, name } of WebAssembly.Module.imports(module)) (imports[from] ??= {})[name] = () => 52;
imports.page = { refuse: (at, wrong) => { throw new Error((wrong ? "fault: " : "") + textAt(at)); } };
function begin() {
  library = new WebAssembly.Instance(module, imports).exports;
  library._initialize?.();
}
function ask(name, question) {
  const bytes = new TextEncoder().encode(question + "\0"), at = library.bough_playground_room(bytes.length);
  new Uint8Array(library.memory.buffer).set(bytes, at);
  try { return JSON.parse(textAt(library["bough_playground_" + name](at))); }
  catch (error) { begin(); return { refused: error.message }; }
}
begin();
const catalogue = ask("catalogue", "");
let faults = 0;
const expect = (right, text) => { if (!right) { console.log("FAILED: " + text); faults = 1; } };

if (what === "check") {
  expect(catalogue.collectives.length >= 11, "eleven collectives");
  const plan = ask("plan", "collective=allreduce&algorithm=recursive_doubling&ranks=13");
  expect(plan.verdict.right && plan.traits[0].value === 5 && plan.run.messages === 34, "recursive doubling of 13 has 5 rounds and 34 messages");
  for (const c of catalogue.collectives)
    for (const a of c.algorithms)
      for (const ranks of [1, 6]) {
        const answer = ask("plan", `collective=${c.name}&algorithm=${a.name}&ranks=${ranks}`);
        expect(answer.refused?.includes("refuses") || answer.verdict?.right, `${c.name} by ${a.name} over ${ranks}: ${answer.refused ?? answer.verdict.sentence}`);
      }
  const broken = ask("plan", "ranks=13&edit=4.3.drop");
  expect(!broken.verdict.right && broken.verdict.sentence.startsWith("rank "), "a plan without a step is wrong");
  for (const [question, part] of [["ranks=257", "--ranks"], ["algorithm=none", "known are"], ["edit=0.99.drop", "edit"]]) {
    const { refused } = ask("plan", question);
    expect(refused?.includes(part) && !refused.includes("fault"), `${question} is refused: ${refused}`);
  }
  expect(ask("plan", "ranks=4").verdict.right, "a question after a refusal is answered");
  expect(ask("fastest", "collective=allreduce&ranks=8&bytes=8,1M").cells.length === 2, "a row of the map");
} else {
  console.log("collective, algorithm: ms by ranks " + list);
  const worst = {};
  for (const c of catalogue.collectives)
    for (const a of c.algorithms) {
      const times = list.split(",").map(ranks => {
        let least = Infinity, answer;
        for (let i = 0; i < 3; ++i) {
          const from = performance.now();
          answer = ask("plan", `collective=${c.name}&algorithm=${a.name}&ranks=${ranks}`);
          least = Math.min(least, performance.now() - from);
        }
        if (answer.refused) return "-";
        worst[ranks] = Math.max(worst[ranks] ?? 0, least);
        return least.toFixed(1);
      });
      console.log(`${c.name} ${a.name}: ${times.join(" ")}`);
    }
  console.log("slowest: " + Object.entries(worst).map(([ranks, ms]) => `${ms.toFixed(1)} ms with ${ranks} ranks`).join(", "));
  console.log(`page: ${fs.statSync(page).size} bytes`);
}
process.exit(faults);
