// The playground's page: asks the library (answers.hpp) and draws what it says. No rule of a
// collective, no schedule and no price is computed here.
"use strict";
const $ = id => document.getElementById(id);
const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  made.append(...children.filter(child => child !== null));
  return made;
};

// --- The library ---------------------------------------------------------------------------------

class Refusal extends Error {}
const library = {
  module: null, instance: null, spare: null,
  async load() {
    const text = $("module").textContent.trim();
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    this.module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    this.instance = await this.make();
    this.spare = await this.make();
  },
  async make() {
    const imports = {};
    let exports;
    for (const { module, name } of WebAssembly.Module.imports(this.module)) (imports[module] ??= {})[name] = () => 52;
    imports.page = { refuse: (at, wrong) => { throw new Refusal((wrong ? "this is a fault of the playground: " : "") + this.text(exports, at)); } };
    const instance = await WebAssembly.instantiate(this.module, imports);
    exports = instance.exports;
    exports._initialize?.();
    return instance;
  },
  text(exports, at) {
    const memory = new Uint8Array(exports.memory.buffer);
    return new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
  },
  // What each rank did comes in columns, not as text.
  addColumns(exports, run) {
    const room = text => {
      const bytes = new TextEncoder().encode(text + "\0"), at = exports.bough_playground_room(bytes.length);
      new Uint8Array(exports.memory.buffer).set(bytes, at);
      return at;
    };
    const count = run.first[run.first.length - 1];
    for (const name of ["verb", "peer", "message", "step"]) run[name] = new Int32Array(exports.memory.buffer, exports.bough_playground_numbers(room(name)), count).slice();
    for (const name of ["begin", "end"]) run[name] = new Float64Array(exports.memory.buffer, exports.bough_playground_times(room(name)), count).slice();
  },
  // The answer to a question; after a refusal the instance is of no more use.
  ask(name, question) {
    const exports = this.instance.exports, bytes = new TextEncoder().encode(question + "\0");
    try {
      const at = exports.bough_playground_room(bytes.length);
      new Uint8Array(exports.memory.buffer).set(bytes, at);
      const answer = JSON.parse(this.text(exports, exports["bough_playground_" + name](at)));
      if (name === "plan" && answer.run) this.addColumns(exports, answer.run);
      return answer;
    } catch (error) {
      this.instance = this.spare;
      this.make().then(instance => this.spare = instance);
      return { refused: error.message };
    }
  },
};

// --- What is asked: the state, which is also the link --------------------------------------------

const networks = [["Cluster network", "2500,1500,1000,0.1,0"], ["RDMA", "1300,300,300,0.08,0"], ["Ethernet", "25000,4000,3000,0.8,0.05"],
                  ["Shared memory", "150,60,60,0.12,0.05"], ["As you like", ""]];
const defaults = { collective: "allreduce", algorithm: "recursive_doubling", degree: "", ordered: "", ranks: "13", root: "0", blocks: "",
                   bytes: "4K", model: networks[0][1], edit: "", beside: "", beside_degree: "", rank: "0" };
const state = { ...defaults };
let catalogue, plan, besidePlan, collective, algorithm;

const questionOf = keys => keys.filter(key => state[key] !== "").map(key => key + "=" + state[key]).join("&");
const planKeys = ["collective", "algorithm", "degree", "ordered", "ranks", "root", "blocks", "bytes", "model", "edit"];
const linkOf = () => "#" + Object.keys(defaults).filter(key => state[key] !== defaults[key]).map(key => key + "=" + state[key]).join("&");
// What a link asks for. Returns a sentence where it names what there is not, as one from another version may.
function readLink() {
  let text = location.hash.slice(1), wrong = "";
  try { text = decodeURIComponent(text); } catch { } // a lone %
  Object.assign(state, defaults);
  for (const item of text.split("&").filter(Boolean)) {
    const [key, value = ""] = item.split("=");
    if (key in defaults) state[key] = value.replace(/[^\w.,:~-]/g, "");
    else wrong ||= `The link has "${key}", which means nothing here.`;
  }
  const named = catalogue.collectives.find(c => c.name === state.collective);
  if (!named) return `The link asks for the collective "${state.collective}", which this page does not have.`;
  const wanted = text.includes("algorithm=") ? [state.algorithm] : [];
  const missing = [...wanted, state.beside].find(name => name && !named.algorithms.some(a => a.name === name));
  return missing ? `The link asks for ${named.name} by "${missing}", which this page does not have.` : wrong;
}
function openLink() {
  const wrong = readLink();
  fillForm();
  update();
  if (wrong) refuse(wrong);
}
function tell(text) {
  $("told").textContent = text;
  $("told").classList.add("shown");
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => $("told").classList.remove("shown"), 1800);
}
async function copy(text, said) {
  try { await navigator.clipboard.writeText(text); }
  catch {
    const area = element("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  tell(said);
}

// --- The form ------------------------------------------------------------------------------------

const sizes = ["8", "64", "256", "1K", "4K", "16K", "64K", "256K", "1M", "4M", "16M"];
const spoken = name => name.replaceAll("_", " ");
function fillForm() {
  $("collective").replaceChildren(...catalogue.collectives.map(c => element("option", { value: c.name }, spoken(c.name))));
  const bytes = sizes.includes(state.bytes) ? sizes : [...sizes, state.bytes];
  $("bytes").replaceChildren(...bytes.map(size => element("option", { value: size }, size.replace(/(\d)([KM]?)$/, (_, digit, unit) => digit + " " + (unit && unit + "i")) + "B")));
  $("network").replaceChildren(...networks.map(([name, value]) => element("option", { value }, name)));
}
const fill = (select, algorithms, none) => {
  const group = (label, trees) => {
    const some = algorithms.filter(a => a.tree === trees);
    return some.length ? [element("optgroup", { label }, ...some.map(a => element("option", { value: a.name }, spoken(a.name))))] : [];
  };
  select.replaceChildren(...(none ? [element("option", { value: "" }, none)] : []), ...group("Algorithms", false), ...group("Over a tree", true));
};
function settle() {
  collective = catalogue.collectives.find(c => c.name === state.collective) ?? catalogue.collectives[0];
  state.collective = collective.name;
  const find = name => collective.algorithms.find(a => a.name === name);
  algorithm = find(state.algorithm) ?? collective.algorithms.find(a => !a.tree) ?? collective.algorithms[0];
  state.algorithm = algorithm.name;
  if (!algorithm.degree) state.degree = "";
  if (!algorithm.ordered) state.ordered = "";
  if (collective.name === "barrier") state.blocks = "";
  const beside = find(state.beside);
  if (!beside) state.beside = "";
  if (!beside?.degree) state.beside_degree = "";
}
function showForm() {
  const beside = collective.algorithms.find(a => a.name === state.beside);
  fill($("algorithm"), collective.algorithms);
  fill($("beside"), collective.algorithms, "nothing");
  const shown = { degree: algorithm.degree, ordered: algorithm.ordered, root: collective.rooted || algorithm.tree,
                  blocks: collective.name !== "barrier", bytes: collective.name !== "barrier", beside_degree: beside?.degree };
  for (const part of document.querySelectorAll("[data-for]")) part.hidden = !shown[part.dataset.for];
  for (const key of ["collective", "algorithm", "degree", "root", "blocks", "bytes", "beside", "beside_degree", "ranks"])
    if (document.activeElement !== $(key) || $(key).value === "") $(key).value = state[key];
  $("ranks_slide").value = state.ranks;
  $("ordered").checked = state.ordered === "1";
  $("network").value = networks.some(n => n[1] === state.model) ? state.model : "";
  const costs = state.model.split(",");
  for (const input of document.querySelectorAll("[data-cost]")) if (document.activeElement !== input) input.value = costs[input.dataset.cost] ?? "";
  const natural = plan && !plan.refused ? plan.blocks : "natural";
  $("blocks").placeholder = state.blocks === "" ? String(natural) : "natural";
}

// --- Time and text -------------------------------------------------------------------------------

function timeText(ns) {
  const [unit, scale] = ns >= 1e9 ? ["s", 1e9] : ns >= 1e6 ? ["ms", 1e6] : ns >= 1e4 ? ["µs", 1e3] : ["ns", 1];
  const value = ns / scale;
  return value.toFixed(scale === 1 || value >= 100 ? 0 : value < 10 ? 2 : 1) + " " + unit;
}
const grouped = value => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, " ");
const names = ["send", "receive", "combine", "copy"];
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
let palette = {};
function readPalette() {
  for (const name of ["paper", "ink", "soft", "faint", "line", "accent", "tint", "wait", "arrow", "bad", ...names]) palette[name] = colour(name);
}
// The marks of the steps, drawn once: a table may have a thousand.
function drawMarks() {
  for (const [verb, name] of names.entries()) {
    const canvas = element("canvas");
    drawDeed(prepared(canvas, 16, 14), verb, 0, 0, 16, 14);
    document.documentElement.style.setProperty("--mark_" + name, `url(${canvas.toDataURL()})`);
  }
}
// A canvas of this size in CSS pixels, ready to draw on.
function prepared(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 16000 / width, 16000 / height);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const draw = canvas.getContext("2d");
  draw.setTransform(ratio, 0, 0, ratio, 0, 0);
  draw.clearRect(0, 0, width, height);
  return draw;
}
// A colour as images have it: four bytes.
function bytesOf(colour) {
  const draw = element("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  draw.fillStyle = colour;
  draw.fillRect(0, 0, 1, 1);
  return draw.getImageData(0, 0, 1, 1).data;
}
// Thin bars by the hundred thousand, painted as pixels: to draw each takes longer than the proof. Left and right they
// cover a share of a pixel, as otherwise patterns were seen that no plan has.
class Bars {
  constructor(draw) {
    const { width, height } = draw.canvas;
    Object.assign(this, { draw, width, ratio: draw.getTransform().a, image: new ImageData(width, height) });
    this.pixels = new Uint32Array(this.image.data.buffer);
  }
  colour(text) { this.bytes = bytesOf(text); this.whole = new Uint32Array(this.bytes.buffer)[0]; }
  add(left, top, width, height) {
    const { pixels, ratio, whole } = this, x0 = left * ratio, x1 = Math.min((left + width) * ratio, this.width - 1);
    const first = Math.floor(x0), last = Math.floor(x1), y0 = Math.round(top * ratio), y1 = Math.max(y0 + 1, Math.round((top + height) * ratio));
    for (let y = y0; y < y1; ++y) {
      const row = y * this.width;
      if (first === last) { this.mix(row + first, x1 - x0); continue; }
      this.mix(row + first, first + 1 - x0);
      for (let x = first + 1; x < last; ++x) pixels[row + x] = whole;
      this.mix(row + last, x1 - last);
    }
  }
  mix(at, share) {
    const { data } = this.image, { bytes } = this, i = 4 * at, under = data[i + 3] / 255 * (1 - share), sum = share + under;
    if (!(sum > 0)) return;
    for (let c = 0; c < 3; ++c) data[i + c] = (bytes[c] * share + data[i + c] * under) / sum;
    data[i + 3] = 255 * sum;
  }
  // Lays them over what was drawn before.
  show() {
    const layer = element("canvas", { width: this.image.width, height: this.image.height });
    layer.getContext("2d").putImageData(this.image, 0, 0);
    this.draw.drawImage(layer, 0, 0, layer.width / this.ratio, layer.height / this.ratio);
  }
}
// A deed: told apart by its place in the row and its form, not only by its colour. A send fills the
// upper half, a receive the lower half; a combine is hatched, a copy is an outline.
function drawDeed(draw, verb, x, y, width, height) {
  const half = height / 2;
  draw.fillStyle = draw.strokeStyle = palette[names[verb]];
  if (verb === 0) draw.fillRect(x, y, width, half - (height > 8 ? .5 : 0));
  else if (verb === 1) draw.fillRect(x, y + half + (height > 8 ? .5 : 0), width, half);
  else if (height < 6 || width < 4) draw.fillRect(x, y, width, height);
  else if (verb === 2) {
    draw.save();
    draw.globalAlpha *= .3;
    draw.fillRect(x, y, width, height);
    draw.restore();
    draw.lineWidth = 1;
    draw.strokeRect(x + .5, y + .5, Math.max(width - 1, .5), height - 1);
    draw.save();
    draw.beginPath();
    draw.rect(x, y, width, height);
    draw.clip();
    draw.beginPath();
    for (let at = x - height; at < x + width; at += 5) { draw.moveTo(at, y + height); draw.lineTo(at + height, y); }
    draw.stroke();
    draw.restore();
  } else { draw.lineWidth = 1.2; draw.strokeRect(x + .6, y + height * .25, Math.max(width - 1.2, .6), half); }
}

// --- The timeline --------------------------------------------------------------------------------

class Timeline {
  constructor(canvas, frame, most = 840) { Object.assign(this, { canvas, frame, most, zoom: 1 }); }
  // `span` is the time that the whole width stands for.
  show(answer, span, label) {
    this.answer = answer;
    this.run = answer.run;
    this.span = span || 1;
    this.canvas.setAttribute("aria-label", label);
    this.layout();
  }
  layout() {
    if (!this.run) return prepared(this.canvas, 10, 1);
    const p = this.answer.size, room = this.frame.clientWidth || 600;
    this.left = p > 99 ? 36 : 30;
    this.row = Math.max(3, Math.min(this.most / p, p <= 16 ? 26 : p <= 32 ? 20 : 13));
    this.small = this.row < 8;
    if (this.small) this.row = Math.floor(this.row); // and even bars, so that all ranks look alike
    this.bar = this.row >= 18 ? this.row - 7 : this.small ? 2 * Math.floor((this.row - 1) / 2) : this.row * .78;
    this.width = Math.round(room * this.zoom);
    this.height = Math.round(p * this.row + 30);
    this.scale = (this.width - this.left - 14) / this.span;
    this.base ??= document.createElement("canvas");
    this.drawBase(prepared(this.base, this.width, this.height));
    this.at(now);
  }
  x(ns) { return this.left + ns * this.scale; }
  y(rank) { return rank * this.row + this.row / 2; }
  drawBase(draw) {
    const { run, small } = this, p = this.answer.size;
    draw.font = "11px " + getComputedStyle(document.body).fontFamily;
    draw.textBaseline = "middle";
    // Time marks.
    const unit = this.span >= 1e6 ? ["ms", 1e6] : this.span >= 1e4 ? ["µs", 1e3] : ["ns", 1];
    const wanted = this.span / unit[1] / Math.max(3, this.width / 110);
    const power = 10 ** Math.floor(Math.log10(wanted || 1)), step = [1, 2, 5, 10].map(f => f * power).find(s => s >= wanted) * unit[1];
    draw.textAlign = "center";
    for (let t = 0; t <= this.span * 1.0001; t += step) {
      draw.fillStyle = palette.line;
      draw.fillRect(this.x(t), 0, 1, p * this.row + 4);
      draw.fillStyle = palette.soft;
      draw.textAlign = t === 0 ? "left" : this.x(t) > this.width - 30 ? "right" : "center";
      draw.fillText(+(t / unit[1]).toPrecision(4) + " " + unit[0], t === 0 ? this.x(0) : this.x(t), p * this.row + 18);
    }
    // Rows.
    let every = 1;
    while (this.row * every < 13) every *= 2;
    draw.textAlign = "right";
    for (let r = 0; r < p; r += every) { draw.fillStyle = palette.soft; draw.fillText(r, this.left - 9, Math.max(this.y(r), 6)); }
    const waits = small ? new Bars(draw) : null;
    waits?.colour(palette.wait);
    for (let r = 0; r < p; ++r) {
      const first = run.first[r], last = run.first[r + 1];
      let free = 0;
      draw.fillStyle = palette.wait;
      for (let i = first; i < last; ++i) {
        const width = (run.begin[i] - free) * this.scale;
        if (width > 0) small ? waits.add(this.x(free), this.y(r) - this.bar / 4, width, this.bar / 2) : draw.fillRect(this.x(free), this.y(r) - 2, width, 4);
        free = run.end[i];
      }
      if (run.stuck && free < this.span) draw.fillRect(this.x(free), this.y(r) - 1, (this.span - free) * this.scale, 2);
    }
    waits?.show();
    this.drawMessages(draw);
    // Small ones have no pattern. Those of one kind lie over those of another everywhere alike.
    if (small) {
      const bars = new Bars(draw), half = this.bar / 2;
      for (let verb = 0; verb < 4; ++verb) {
        bars.colour(palette[names[verb]]);
        for (let r = 0; r < p; ++r)
          for (let i = run.first[r]; i < run.first[r + 1]; ++i)
            if (run.verb[i] === verb) bars.add(this.x(run.begin[i]), this.y(r) - (verb === 1 ? 0 : half), Math.max((run.end[i] - run.begin[i]) * this.scale, 1.5), verb < 2 ? half : this.bar);
      }
      bars.show();
    }
    else for (let r = 0; r < p; ++r)
      for (let i = run.first[r]; i < run.first[r + 1]; ++i)
        drawDeed(draw, run.verb[i], this.x(run.begin[i]), this.y(r) - this.bar / 2, Math.max((run.end[i] - run.begin[i]) * this.scale, 1.5), this.bar);
    if (this.bar < 11) return;
    // Whom a message goes to, where there is room.
    draw.font = "600 9px " + getComputedStyle(document.body).fontFamily;
    draw.textAlign = "center";
    draw.fillStyle = palette.paper;
    for (let r = 0; r < p; ++r)
      for (let i = run.first[r]; i < run.first[r + 1]; ++i)
        if (run.peer[i] >= 0 && (run.end[i] - run.begin[i]) * this.scale > 22 && this.bar >= 18)
          draw.fillText((run.verb[i] === 0 ? "→" : "←") + run.peer[i], this.x((run.begin[i] + run.end[i]) / 2), this.y(r) + (run.verb[i] === 0 ? -1 : 1) * this.bar / 4 + .5);
  }
  drawMessages(draw) {
    const { run } = this;
    if (run.messages > 40000) return;
    const dense = run.messages > 3000;
    draw.strokeStyle = palette.arrow;
    draw.lineWidth = dense ? .35 : this.answer.size > 64 ? .6 : 1;
    const receive = receivesOf(run);
    draw.beginPath();
    for (let r = 0; r < this.answer.size; ++r)
      for (let i = run.first[r]; i < run.first[r + 1]; ++i) {
        const deed = run.verb[i] === 0 ? receive.deed[run.message[i]] : -1;
        if (deed < 0) continue;
        const to = receive.rank[run.message[i]], down = to > r ? 1 : -1, reach = this.bar / 2;
        const x0 = this.x(run.end[i]), y0 = this.y(r) + down * (reach > 3 ? reach : 0), x1 = this.x(run.begin[deed]), y1 = this.y(to) - down * (reach > 3 ? reach : 0);
        draw.moveTo(x0, y0);
        draw.lineTo(x1, y1);
        if (dense || this.small) continue;
        const angle = Math.atan2(y1 - y0, x1 - x0);
        for (const turn of [-.42, .42]) { draw.moveTo(x1, y1); draw.lineTo(x1 - 6 * Math.cos(angle + turn), y1 - 6 * Math.sin(angle + turn)); }
      }
    draw.stroke();
  }
  // Shows the moment t: what comes later is pale.
  at(t) {
    if (!this.run) return;
    const draw = prepared(this.canvas, this.width, this.height);
    draw.drawImage(this.base, 0, 0, this.width, this.height);
    if (t >= this.span) return;
    const x = this.x(t);
    draw.fillStyle = palette.paper;
    draw.globalAlpha = .72;
    draw.fillRect(x, 0, this.width - x, this.answer.size * this.row + 4);
    draw.globalAlpha = 1;
    draw.fillStyle = palette.accent;
    draw.fillRect(x - .75, 0, 1.5, this.answer.size * this.row + 5);
  }
  // The rank, the time and the deed at a place of the canvas.
  find(event) {
    const box = this.canvas.getBoundingClientRect(), rank = Math.floor((event.clientY - box.top) / this.row);
    const t = (event.clientX - box.left - this.left) / this.scale;
    if (!(rank >= 0 && rank < this.answer.size)) return { t, rank: -1 };
    let deed = -1;
    for (let i = this.run.first[rank]; i < this.run.first[rank + 1]; ++i) if (this.run.begin[i] <= t && t <= this.run.end[i]) deed = i;
    return { t, rank, deed };
  }
}
// By message: the deed that takes it, or -1; and of which rank that is.
const receivesKnown = new WeakMap();
function receivesOf(run) {
  let known = receivesKnown.get(run);
  if (known) return known;
  const most = run.message.reduce((last, message) => Math.max(last, message), -1);
  known = { deed: new Int32Array(most + 1).fill(-1), rank: new Int32Array(most + 1) };
  for (let r = 0; r + 1 < run.first.length; ++r)
    for (let i = run.first[r]; i < run.first[r + 1]; ++i) if (run.verb[i] === 1 && run.message[i] >= 0) { known.deed[run.message[i]] = i; known.rank[run.message[i]] = r; }
  receivesKnown.set(run, known);
  return known;
}

// --- The tree, or who talks to whom --------------------------------------------------------------

const graph = {
  place: [],
  layout() {
    const { tree } = plan, p = plan.size, room = Math.max($("graph_frame").clientWidth, 240);
    this.place = [];
    if (tree) {
      const leaves = Math.max(...tree.x), depth = Math.max(...tree.depth);
      const pitch = Math.max(p > 128 ? 5 : p > 48 ? 14 : 26, leaves ? Math.min(46, (room - 40) / leaves) : 0);
      this.width = Math.max(room, leaves * pitch + 40);
      const drop = Math.max(p > 64 ? 26 : 44, Math.min(74, 420 / (depth + 1)));
      this.height = Math.min(40 + depth * drop, 12000);
      this.radius = Math.max(2.2, Math.min(13, pitch * .42, drop * .36));
      const shift = (this.width - leaves * pitch) / 2;
      tree.rank.forEach((rank, i) => this.place[rank] = { x: shift + tree.x[i] * pitch, y: 20 + tree.depth[i] * (this.height - 40) / (depth || 1), parent: tree.parent[i], turn: tree.turn[i] });
    } else {
      this.width = Math.min(room, 600);
      this.height = this.width;
      const reach = this.width / 2 - 24;
      this.radius = Math.max(2.2, Math.min(13, Math.PI * reach / p * .8));
      for (let r = 0; r < p; ++r) {
        const angle = 2 * Math.PI * r / p - Math.PI / 2;
        this.place[r] = { x: this.width / 2 + (p > 1 ? reach * Math.cos(angle) : 0), y: this.height / 2 + (p > 1 ? reach * Math.sin(angle) : 0) };
      }
    }
    // Whom each rank sends to, once.
    const met = new Uint8Array(p * p);
    this.edges = [];
    const { run } = plan;
    if (run) for (let r = 0; r < p; ++r)
      for (let i = run.first[r]; i < run.first[r + 1]; ++i) {
        if (run.verb[i] !== 0) continue;
        const key = Math.min(r, run.peer[i]) * p + Math.max(r, run.peer[i]);
        if (!met[key]) { met[key] = 1; this.edges.push([r, run.peer[i]]); }
      }
  },
  at(t) {
    const canvas = $("graph"), draw = prepared(canvas, this.width, this.height), { run, tree } = plan, all = this.place;
    const line = (a, b) => { draw.moveTo(all[a].x, all[a].y); draw.lineTo(all[b].x, all[b].y); };
    draw.strokeStyle = palette.arrow;
    draw.lineWidth = this.edges.length > 1500 ? .25 : plan.size > 64 ? .6 : 1.2;
    draw.beginPath();
    if (tree) all.forEach((p, r) => p.parent !== r && line(p.parent, r));
    if (!tree || state.edit) for (const [a, b] of this.edges) line(a, b);
    draw.stroke();
    // Messages under way: from the beginning of the send to the end of the receive.
    const done = [], busy = [];
    if (run) {
      const over = t >= run.makespan_ns, receive = over ? null : receivesOf(run); // over: none is under way
      draw.strokeStyle = draw.fillStyle = palette.send;
      for (let r = 0; r < plan.size; ++r) {
        const first = run.first[r], last = run.first[r + 1];
        done[r] = !run.unended.includes(r) && (last === first || run.end[last - 1] <= t);
        for (let i = first; i < last && run.begin[i] <= t; ++i) {
          if (run.end[i] >= t && run.verb[i] !== 1) busy[r] = true;
          if (over || run.verb[i] !== 0) continue;
          const deed = receive.deed[run.message[i]], arrives = deed < 0 ? run.end[i] : run.end[deed];
          if (arrives < t) continue;
          draw.lineWidth = Math.min(3, this.radius / 2 + .6);
          draw.beginPath();
          const share = Math.min(1, (t - run.begin[i]) / Math.max(arrives - run.begin[i], 1e-9)), a = all[r], b = all[run.peer[i]];
          if (!b) continue;
          line(r, run.peer[i]);
          draw.globalAlpha = .55;
          draw.stroke();
          draw.globalAlpha = 1;
          draw.beginPath();
          draw.arc(a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share, Math.max(2.5, this.radius * .42), 0, 7);
          draw.fill();
        }
      }
    }
    // Ranks: finished ones are filled, the chosen one has a second ring.
    draw.textAlign = "center";
    draw.textBaseline = "middle";
    const labels = this.radius >= 7;
    draw.font = `${Math.min(12, this.radius * 1.0)}px ` + getComputedStyle(document.body).fontFamily;
    all.forEach((p, r) => {
      draw.beginPath();
      draw.arc(p.x, p.y, this.radius, 0, 7);
      draw.fillStyle = done[r] ? palette.accent : busy[r] ? palette.tint : palette.paper;
      draw.fill();
      draw.strokeStyle = palette.accent;
      draw.lineWidth = busy[r] ? 2.2 : labels ? 1.2 : .8;
      draw.stroke();
      if (String(r) === state.rank) {
        draw.beginPath();
        draw.arc(p.x, p.y, this.radius + 3.5, 0, 7);
        draw.lineWidth = 1.5;
        draw.strokeStyle = palette.ink;
        draw.stroke();
      }
      if (labels) { draw.fillStyle = done[r] ? palette.paper : palette.ink; draw.fillText(r, p.x, p.y + .5); }
    });
  },
  find(event) {
    const box = $("graph").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = -1, least = 400;
    this.place.forEach((p, r) => { const d = (p.x - x) ** 2 + (p.y - y) ** 2; if (d < least) { least = d; best = r; } });
    return best;
  },
};

// --- The moment ----------------------------------------------------------------------------------

let now = Infinity, events = null, playing = 0;
const line = new Timeline($("run"), $("run_frame"));
const besideLines = [new Timeline($("run_a"), $("run_a_frame"), 420), new Timeline($("run_b"), $("run_b_frame"), 420)];
function setTime(t, keep) {
  const end = plan.run ? plan.run.makespan_ns : 0;
  now = Math.min(Math.max(t, 0), end);
  if (!keep) $("time").value = end ? 1000 * now / end : 1000;
  const text = timeText(now) + " of " + timeText(end);
  $("time_text").textContent = text;
  $("time").setAttribute("aria-valuetext", text);
  line.at(now);
  graph.at(now);
  if (besidePlan?.run) for (const other of besideLines) other.at(now >= end ? Infinity : now);
  markStep();
}
function stop() {
  cancelAnimationFrame(playing);
  playing = 0;
  $("play").classList.remove("running");
  $("play").setAttribute("aria-label", "Play");
}
function play() {
  if (playing) return stop();
  if (now >= plan.run.makespan_ns) setTime(0);
  const length = plan.run.makespan_ns, from = performance.now(), begin = now;
  $("play").classList.add("running");
  $("play").setAttribute("aria-label", "Stop");
  const frame = () => {
    const t = begin + (performance.now() - from) / 6000 * length;
    setTime(t);
    if (t >= length) stop(); else playing = requestAnimationFrame(frame);
  };
  playing = requestAnimationFrame(frame);
}
// When something begins or ends, in order; found when it is first asked for.
const eventsOf = () => events ??= plan.run ? Float64Array.from(new Set([...plan.run.begin, ...plan.run.end])).sort() : [];
const nextEvent = () => eventsOf().find(e => e > now + 1e-6) ?? plan.run.makespan_ns;
const lastEvent = () => eventsOf().findLast(e => e < now - 1e-6) ?? 0;

// --- The steps -----------------------------------------------------------------------------------

let changing = -1; // the line whose form is open
const stepsAtFirst = 100;
const edits = () => state.edit ? state.edit.split("~") : [];
const ofLine = (text, rank, at) => text.startsWith(`${rank}.${at}.`);
// Replaces all changes of a step.
function setEdits(rank, at, made) {
  state.edit = [...edits().filter(text => !ofLine(text, rank, at)), ...made].join("~");
  changing = -1;
  update();
}
function showSteps() {
  const answer = library.ask("steps", questionOf(planKeys) + "&rank=" + state.rank);
  $("rank").max = plan.size - 1;
  if (document.activeElement !== $("rank")) $("rank").value = state.rank;
  if (answer.refused) return $("steps").replaceChildren();
  const { verdict } = plan, faulty = !verdict.right && String(verdict.rank) === state.rank ? verdict.step : null;
  // A thousand rows take longer than the proof: those behind the first, and behind what matters, if they are asked for.
  const asked = linkOf(), last = answer.steps.findLastIndex(s => s.changed || (faulty !== null && s.number === faulty) || s.line === changing);
  const shown = showSteps.all === asked ? answer.steps : answer.steps.slice(0, Math.max(stepsAtFirst, last + 1));
  const left = answer.steps.length - shown.length;
  const rows = shown.flatMap(s => {
    const button = (text, label, act) => element("button", { type: "button", "aria-label": label, onclick: act }, text);
    const which = `step ${s.line} of rank ${state.rank}`, dropped = s.number === null;
    const row = element("tr", { class: [dropped && "dropped", s.changed && !dropped && "changed", s.number !== null && s.number === faulty && "fault"].filter(Boolean).join(" "), "data-number": s.number },
      element("td", { class: "number" }, dropped ? "" : String(s.number)),
      element("td", { class: "step " + s.verb }, element("span", {}, s.text)),
      element("td", { class: "after" }, s.after.length ? s.after.slice(0, 4).join(", ") + (s.after.length > 4 ? " ..." : "") : ""),
      element("td", { class: "acts_of" },
        s.changed ? button("Restore", "Restore " + which, () => setEdits(state.rank, s.line, [])) : null,
        dropped ? null : button("Change", "Change " + which, () => { changing = changing === s.line ? -1 : s.line; showSteps(); document.querySelector(".change input, .change select")?.focus(); }),
        dropped ? null : button("Delete", "Delete " + which, () => setEdits(state.rank, s.line, [`${state.rank}.${s.line}.drop`]))));
    return changing === s.line && !dropped ? [row, element("tr", { class: "form" }, element("td", { colspan: 4 }, changeForm(s)))] : [row];
  });
  if (left) rows.push(element("tr", { class: "form" }, element("td", { colspan: 4 }, element("button", { type: "button", onclick: () => {
    showSteps.all = asked;
    showSteps();
    $("steps").querySelectorAll("tbody tr")[rows.length - 1].querySelector("button").focus();
  } }, `Show the other ${left} steps`))));
  $("steps").replaceChildren(
    element("thead", {}, element("tr", {}, ...[["#", ""], ["step", ""], ["waits for", "after"], ["", ""]].map(([text, name]) => element("th", { scope: "col", class: name }, text)))),
    element("tbody", {}, ...(rows.length ? rows : [element("tr", {}, element("td", { colspan: 4 }, "This rank has no steps."))])));
  markStep();
}
function changeForm(s) {
  const form = element("form", { class: "change" });
  const number = (name, value) => element("label", {}, name, element("input", { type: "number", min: 0, value, name }));
  const buffers = ["input", "output", "scratch0", "scratch1"];
  const slice = (part, label, value) => element("fieldset", { "data-part": part }, element("legend", {}, label),
    element("label", {}, "buffer", element("select", { name: "buffer" }, ...[...new Set([...buffers, value.buffer])].map(b => element("option", { value: b, selected: b === value.buffer }, b)))),
    number("first", value.first), number("blocks", value.count));
  if ("peer" in s) form.append(number("peer", s.peer));
  const parts = { from: "a", a: "a", b: "b", out: "out" };
  for (const [member, part] of Object.entries(parts))
    if (s[member]) form.append(slice(part, { from: "reads", a: "lower", b: "upper", out: "writes" }[member], s[member]));
  const at = `${state.rank}.${s.line}.`;
  const others = () => edits().filter(text => ofLine(text, state.rank, s.line));
  const act = (text, run, name = "") => element("button", { type: name ? "submit" : "button", class: name, ...(run ? { onclick: run } : {}) }, text);
  form.append(act("Apply", null, "main"));
  if (s.b) form.append(act("Swap operands", () => setEdits(state.rank, s.line, [...others(), at + "swap"])));
  form.append(act("Do it twice", () => setEdits(state.rank, s.line, [...others(), at + "twice"])),
              act("Cancel", () => { changing = -1; showSteps(); }));
  form.addEventListener("submit", event => {
    event.preventDefault();
    const made = others().filter(text => /\.(swap|twice)$/.test(text));
    const peer = form.querySelector("[name=peer]");
    if (peer && (Number(peer.value) !== s.peer || others().some(text => text.includes(".peer.")))) made.push(at + "peer." + Number(peer.value));
    for (const set of form.querySelectorAll("fieldset")) {
      const part = set.dataset.part, before = s[part === "a" && s.from ? "from" : part];
      const value = [set.querySelector("[name=buffer]").value, Number(set.querySelector("[name=first]").value), Number(set.querySelector("[name=blocks]").value)];
      if (value.join(":") !== [before.buffer, before.first, before.count].join(":") || others().some(text => text.startsWith(at + part + "."))) made.push(at + part + "." + value.join(":"));
    }
    setEdits(state.rank, s.line, made);
  });
  return form;
}
// Marks the step that the chosen rank does at this moment.
function markStep() {
  const { run } = plan, rank = Number(state.rank);
  let step = -1;
  if (run && now < run.makespan_ns) for (let i = run.first[rank]; i < run.first[rank + 1]; ++i) if (run.begin[i] <= now) step = run.step[i];
  for (const row of $("steps").querySelectorAll("tr[data-number]")) row.classList.toggle("now", step >= 0 && row.dataset.number === String(step));
}

// --- The answer, in words and figures ------------------------------------------------------------

const valueText = value => typeof value === "boolean" ? (value ? "yes" : "no") : grouped(value);
function showPlan(spent) {
  const { verdict } = plan;
  $("verdict").className = "verdict " + (verdict.right ? "good" : "bad");
  $("said").textContent = verdict.right ? "Proved right" + (plan.changes ? ", also as changed" : "") : "Wrong: " + verdict.sentence;
  $("asked").textContent = plan.text;
  $("mend").hidden = !plan.changes;
  $("break").hidden = plan.size < 2;
  $("spent").textContent = `This plan took ${spent.toFixed(0)} ms, drawing included.`;
  $("refused").hidden = true;
  document.title = `${spoken(plan.collective)} by ${spoken(state.algorithm)}, ${plan.size} ranks: bough playground`;
  $("run_note").textContent = plan.run ? (plan.run.stuck ? `stops at ${timeText(plan.run.makespan_ns)}: rank ${plan.run.stuck.rank} waits for ever` + (plan.run.stuck.on === null ? "" : ` for rank ${plan.run.stuck.on}`)
    : `simulated: ${timeText(plan.run.makespan_ns)}, ${grouped(plan.run.messages)} messages`) : "cannot be run: a step breaks the rules of steps";
  $("h_graph").textContent = plan.tree ? "Tree" : "Who talks to whom";
  $("graph_note").textContent = plan.tree ? `depth ${Math.max(...plan.tree.depth)}; children from left to right in send order` : `${grouped(graph.edges.length)} pairs of ranks`;
  $("graph").setAttribute("aria-label", plan.tree ? "The tree: " + plan.tree.outline : "Ranks on a circle, with a line between those that exchange messages");
  $("outline").textContent = plan.tree ? plan.tree.outline : "";
  $("cpp").textContent = plan.cpp;
  $("cpp_note").textContent = "To run it: g++ -std=c++20 -I bough/include plan.cpp && ./a.out" + (plan.changes ? ". It lacks the changes: in C++ a plan is what its algorithm makes." : "");
  const head = element("thead", { class: "" });
  $("traits").replaceChildren(head, element("tbody", {}, ...(plan.traits ?? []).map(t => element("tr", {},
    element("th", { scope: "row" }, spoken(t.name)), element("td", { class: "value" }, valueText(t.value)), element("td", { class: "meaning" }, t.meaning)))));
  if (!plan.traits) $("traits").replaceChildren(element("tbody", {}, element("tr", {}, element("td", { class: "meaning" }, "A wrong plan has no traits."))));
}
function showKey() {
  const used = new Set(plan.run ? plan.run.verb : []);
  const entry = (mark, text) => element("li", {}, mark, text);
  const small = paint => { const canvas = element("canvas", { "aria-hidden": "true" }); paint(prepared(canvas, 22, 14)); return canvas; };
  $("run_key").replaceChildren(...names.map((name, verb) => used.has(verb) ? entry(small(draw => drawDeed(draw, verb, 0, 0, 22, 14)), ["send (upper half)", "receive (lower half)", "combine (hatched)", "copy (outline)"][verb]) : ""),
    entry(small(draw => { draw.fillStyle = palette.wait; draw.fillRect(0, 5, 22, 4); }), "waits"),
    used.has(0) ? entry(small(draw => { draw.strokeStyle = palette.soft; draw.beginPath(); draw.moveTo(1, 2); draw.lineTo(20, 12); draw.lineTo(14, 12.3); draw.moveTo(20, 12); draw.lineTo(17, 7); draw.stroke(); }), "message") : "");
}
function showBeside() {
  $("beside_card").hidden = !state.beside;
  besidePlan = null;
  if (!state.beside) return;
  const question = questionOf(["collective", "ranks", "root", "blocks", "bytes", "model"]) + "&algorithm=" + state.beside + (state.beside_degree ? "&degree=" + state.beside_degree : "");
  besidePlan = library.ask("plan", question);
  const refused = besidePlan.refused;
  for (const id of ["beside_a", "beside_b", "run_a_frame", "run_b_frame", "beside_traits"]) $(id).hidden = Boolean(refused) || !plan.run;
  if (refused) { $("beside_note").textContent = refused; besidePlan = null; return; }
  const both = [plan, besidePlan], titles = [state.algorithm, state.beside].map((name, i) => spoken(name) + ([state.degree, state.beside_degree][i] ? ", degree " + [state.degree, state.beside_degree][i] : ""));
  if (!plan.run || plan.run.stuck) { $("beside_note").textContent = "The changed plan does not end: there is nothing to compare."; for (const id of ["beside_a", "beside_b", "run_a_frame", "run_b_frame", "beside_traits"]) $(id).hidden = true; besidePlan = null; return; }
  const times = both.map(one => one.run.makespan_ns), span = Math.max(...times), ratio = times[1] / times[0];
  $("beside_note").textContent = !plan.verdict.right ? "of the plan as changed, which is wrong" : Math.abs(ratio - 1) < .002 ? "both take the same time" : ratio > 1 ? `${titles[0]} is ${ratio.toFixed(2)} times as fast` : `${titles[1]} is ${(1 / ratio).toFixed(2)} times as fast`;
  both.forEach((one, i) => {
    $(["beside_a", "beside_b"][i]).textContent = `${titles[i]}: ${timeText(times[i])}`;
    besideLines[i].show(one, span, `Timeline of ${titles[i]}: ${timeText(times[i])}, ${one.run.messages} messages`);
  });
  const row = (name, values, texts, meaning) => {
    const numbers = values.map(Number), better = name.startsWith("bracket") || numbers[0] === numbers[1] ? -1 : numbers[0] < numbers[1] ? 0 : 1;
    return element("tr", {}, element("th", { scope: "row" }, spoken(name)), ...texts.map((text, i) => element("td", { class: "value" + (i === better ? " better" : "") }, text)), element("td", { class: "meaning" }, meaning));
  };
  const rows = [row("time", times, times.map(timeText), "simulated, until the last rank ends")];
  plan.traits?.forEach((t, i) => {
    const other = besidePlan.traits[i], good = ["rank_consistent", "position_invariant"].includes(t.name);
    const rank = value => typeof value === "boolean" ? (value === good ? 0 : 1) : value;
    rows.push(row(t.name, [rank(t.value), rank(other.value)], [t.value, other.value].map(valueText), t.meaning));
  });
  $("beside_traits").replaceChildren(element("thead", {}, element("tr", {}, element("th", {}, ""), ...titles.map(t => element("th", { scope: "col", class: "value" }, t)), element("th", {}, "◂ is the better one"))), element("tbody", {}, ...rows));
}

// --- The map -------------------------------------------------------------------------------------

const tints = ["#9db8dc", "#f0b7a4", "#a5d3b4", "#e6d58c", "#a9dbe6", "#d3a9cc", "#cfcfcf", "#f2c48a", "#8fcabd", "#b3add6", "#e6c9b3", "#c3d49a", "#c6b8e0", "#b5bcc6"];
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const mapRanks = [64, 56, 48, 40, 36, 32, 31, 28, 24, 20, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2];
const map = { key: "", cells: {}, names: [], counts: [], timer: 0 };
function startMap() {
  const key = state.collective + " " + state.model;
  if (map.key !== key) {
    Object.assign(map, { key, cells: {}, names: [], counts: [] });
    clearTimeout(map.timer);
    const barrier = state.collective === "barrier", bytes = barrier ? ["0"] : [...Array(22).keys()].map(i => String(8 * 2 ** i));
    const text = size => size >= 2 ** 20 ? size / 2 ** 20 + "M" : size >= 1024 ? size / 1024 + "K" : size;
    $("map").replaceChildren(
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "ranks"), ...bytes.map(() => element("th", {})))),
      element("tbody", {}, ...mapRanks.map(p => element("tr", { "data-ranks": p }, element("th", { scope: "row" }, String(p)), ...bytes.map(() => element("td", {}))))),
      element("tfoot", {}, element("tr", {}, element("th", {}), ...bytes.map((size, i) => element("th", {}, barrier ? "" : i % 3 === 0 ? text(Number(size)) : "")))));
    map.bytes = bytes;
    map.todo = [...mapRanks].reverse();
    $("legend").replaceChildren();
    $("map_note").textContent = "";
  }
  markMap();
  if (map.todo.length) { clearTimeout(map.timer); map.timer = setTimeout(mapRow, 800); } // once nobody changes anything
}
function mapRow() {
  const ranks = map.todo.shift(), answer = library.ask("fastest", `collective=${state.collective}&model=${state.model}&ranks=${ranks}`);
  if (answer.refused) { $("map_note").textContent = answer.refused; map.todo = []; return; }
  const row = $("map").querySelector(`tr[data-ranks="${ranks}"]`);
  answer.cells.forEach((cell, i) => {
    const name = cell.algorithm ?? "none";
    let index = map.names.indexOf(name);
    if (index < 0) index = map.names.push(name) - 1;
    map.counts[index] = (map.counts[index] ?? 0) + 1;
    const td = row.children[i + 1];
    td.textContent = letters[index] ?? "?";
    td.style.background = tints[index % tints.length];
    td.title = `${ranks} ranks, ${grouped(cell.bytes)} bytes: ${name}, ${timeText(cell.ns)}`;
    td.dataset.bytes = cell.bytes;
  });
  const order = map.names.map((_, i) => i).sort((a, b) => map.counts[b] - map.counts[a]);
  $("legend").replaceChildren(...order.map(i => element("li", {}, element("b", { style: "background:" + tints[i % tints.length] }, letters[i] ?? "?"), map.names[i], element("span", {}, String(map.counts[i])))));
  $("map_note").textContent = map.todo.length ? `${map.todo.length} rows to go` : "expected by the costs on the left; press a cell to go there";
  markMap();
  if (map.todo.length) map.timer = setTimeout(mapRow, 0);
}
function markMap() {
  const size = { K: 1024, M: 2 ** 20 }[state.bytes.slice(-1)] ?? 1, bytes = String(parseInt(state.bytes) * size);
  for (const td of $("map").querySelectorAll("td")) td.classList.toggle("here", td.parentNode.dataset.ranks === state.ranks && td.dataset.bytes === bytes);
}

// --- All of it -----------------------------------------------------------------------------------

function refuse(sentence) {
  $("refused").textContent = sentence;
  $("refused").hidden = false;
}
function update() {
  stop();
  settle();
  const from = performance.now(), answer = library.ask("plan", questionOf(planKeys));
  showForm();
  try { history.replaceState(null, "", linkOf()); } catch { location.hash = linkOf(); }
  if (answer.refused) {
    if (!plan) { // a link that asks for what there is not: without its changes, or from the beginning
      Object.assign(state, state.edit ? { edit: "" } : defaults);
      update();
    }
    refuse(answer.refused.replace(/^--/, "").replace(/^ALGORITHM: /, ""));
    return;
  }
  plan = answer;
  if (!/^\d+$/.test(state.rank) || Number(state.rank) >= plan.size) state.rank = "0";
  if (!plan.verdict.right && plan.verdict.rank !== null && update.fault !== state.edit) state.rank = String(plan.verdict.rank);
  update.fault = state.edit;
  showForm();
  graph.layout();
  events = null;
  for (const id of ["to_begin", "back", "play", "next", "time"]) $(id).disabled = !plan.run;
  now = Infinity;
  line.show(plan, plan.run ? plan.run.makespan_ns * (plan.run.stuck ? 1.15 : 1) : 0, plan.run ? `Timeline of ${spoken(state.algorithm)}: ${plan.size} ranks, ${plan.run.messages} messages, ${timeText(plan.run.makespan_ns)}. The steps are in the table below.` : "No timeline");
  showBeside();
  setTime(plan.run ? plan.run.makespan_ns : 0);
  showKey();
  showSteps();
  showPlan(performance.now() - from);
  startMap();
  update.spent = performance.now() - from;
}
function choose(key, value) {
  state[key] = String(value);
  if (["collective", "algorithm", "degree", "ordered", "ranks", "root", "blocks"].includes(key)) state.edit = "";
  if (key === "algorithm") state.degree = state.ordered = "";
  if (key === "beside") state.beside_degree = "";
  if (key === "collective") state.root = "0", state.blocks = "";
  if (key === "ranks" && Number(state.root) >= Number(value)) state.root = "0";
  update();
}
function listen() {
  for (const key of ["collective", "algorithm", "bytes", "beside"]) $(key).addEventListener("change", event => choose(key, event.target.value));
  for (const key of ["degree", "root", "blocks", "beside_degree"]) $(key).addEventListener("input", event => choose(key, event.target.value));
  for (const id of ["ranks", "ranks_slide"]) $(id).addEventListener("input", event => { if (event.target.value !== "") choose("ranks", event.target.value); });
  $("ordered").addEventListener("change", event => choose("ordered", event.target.checked ? "1" : ""));
  $("network").addEventListener("change", event => { if (event.target.value) choose("model", event.target.value); else { $("costs").open = true; document.querySelector("[data-cost]").focus(); } });
  for (const input of document.querySelectorAll("[data-cost]")) input.addEventListener("input", () =>
    choose("model", [...document.querySelectorAll("[data-cost]")].map(i => i.value === "" ? "0" : i.value).join(",")));
  $("choices").addEventListener("submit", event => event.preventDefault());
  $("time").addEventListener("input", event => { stop(); setTime(plan.run.makespan_ns * event.target.value / 1000, true); });
  $("to_begin").addEventListener("click", () => { stop(); setTime(0); });
  $("back").addEventListener("click", () => { stop(); setTime(lastEvent()); });
  $("next").addEventListener("click", () => { stop(); setTime(nextEvent()); });
  $("play").addEventListener("click", play);
  for (const [id, factor] of [["more", 2], ["less", .5]]) $(id).addEventListener("click", () => { line.zoom = Math.min(16, Math.max(1, line.zoom * factor)); line.layout(); });
  const pick = rank => { if (rank >= 0) { state.rank = String(rank); changing = -1; showSteps(); graph.at(now); try { history.replaceState(null, "", linkOf()); } catch { } } };
  $("run").addEventListener("click", event => { const found = line.find(event); stop(); setTime(found.t); pick(found.rank); });
  $("graph").addEventListener("click", event => pick(graph.find(event)));
  $("rank").addEventListener("input", event => { if (event.target.value !== "" && Number(event.target.value) < plan.size) pick(Number(event.target.value)); });
  $("run").addEventListener("mousemove", event => {
    const found = line.run ? line.find(event) : { deed: -1 };
    const { run } = line;
    $("run").title = found.deed >= 0 ? `rank ${found.rank}: ${names[run.verb[found.deed]]}${run.peer[found.deed] >= 0 ? (run.verb[found.deed] === 0 ? " to " : " from ") + run.peer[found.deed] : ""}, ${timeText(run.begin[found.deed])} to ${timeText(run.end[found.deed])}` : "";
  });
  $("break").addEventListener("click", () => {
    // Another step each time: of the ranks in turn, the middle one.
    const rank = (edits().length * 5 + 1) % plan.size, found = library.ask("steps", questionOf(planKeys) + "&rank=" + rank);
    const left = (found.steps ?? []).filter(s => !s.changed);
    if (!left.length) return tell(`Rank ${rank} has no step left`);
    const at = left[Math.floor(left.length / 2)].line;
    state.edit = [...edits(), `${rank}.${at}.drop`].join("~");
    update();
    tell(`Step ${at} of rank ${rank} is deleted`);
  });
  $("mend").addEventListener("click", () => { state.edit = ""; update(); $("break").focus(); });
  $("link").addEventListener("click", () => copy(location.href.split("#")[0] + linkOf(), "The link is copied"));
  $("copy").addEventListener("click", () => copy(plan.cpp, "The program is copied"));
  $("theme").addEventListener("click", () => {
    const order = ["", "light", "dark"], next = order[(order.indexOf(document.documentElement.dataset.theme ?? "") + 1) % 3];
    setTheme(next);
    try { localStorage.setItem("bough theme", next); } catch { }
  });
  $("map").addEventListener("click", event => {
    const td = event.target.closest("td[data-bytes]");
    if (!td) return;
    const bytes = Number(td.dataset.bytes);
    state.ranks = td.parentNode.dataset.ranks;
    state.edit = "";
    if (Number(state.root) >= Number(state.ranks)) state.root = "0";
    if (bytes) { state.bytes = bytes >= 2 ** 20 ? bytes / 2 ** 20 + "M" : bytes >= 1024 ? bytes / 1024 + "K" : String(bytes); fillForm(); }
    update();
    tell(`${state.ranks} ranks${bytes ? ", " + state.bytes + " bytes" : ""}`);
  });
  window.addEventListener("hashchange", openLink);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (window.innerWidth !== width) { width = window.innerWidth; redraw(); } });
}
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  $("theme").lastChild.textContent = { "": "Auto", light: "Light", dark: "Dark" }[theme];
  $("theme").setAttribute("aria-label", "Colours: " + { "": "as the system", light: "light", dark: "dark" }[theme]);
  if (plan) redraw();
}
function redraw() {
  readPalette();
  drawMarks();
  graph.layout();
  line.layout();
  if (besidePlan) for (const other of besideLines) other.layout();
  setTime(Math.min(now, plan.run?.makespan_ns ?? 0));
  showKey();
  showSteps();
}

(async () => {
  try { setTheme(localStorage.getItem("bough theme") ?? ""); } catch { }
  try { await library.load(); }
  catch (error) {
    $("said").textContent = "This browser cannot run the playground: it needs WebAssembly and DecompressionStream (2023 or later).";
    $("asked").textContent = error.message;
    return;
  }
  readPalette();
  drawMarks();
  catalogue = library.ask("catalogue", "");
  listen();
  openLink();
  document.documentElement.dataset.ready = "1";
})();
