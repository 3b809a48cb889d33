// SPDX-License-Identifier: BSL-1.0
// Search, colours and the menu of a small window. The index is a script, so that it loads by file://, too.
"use strict";
const root = document.currentScript.dataset.root;
const field = document.getElementById("search"), list = document.getElementById("found");

// --- Colours, as in the playground --------------------------------------------------------------

const button = document.getElementById("theme");
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  button.lastChild.textContent = { "": "Auto", light: "Light", dark: "Dark" }[theme] ?? "Auto";
  button.setAttribute("aria-label", "Colours: " + ({ light: "light", dark: "dark" }[theme] ?? "as the system"));
}
button.addEventListener("click", () => {
  const order = ["", "light", "dark"], next = order[(order.indexOf(document.documentElement.dataset.theme ?? "") + 1) % 3];
  setTheme(next);
  try { localStorage.setItem("bough theme", next); } catch { }
});
try { setTheme(localStorage.getItem("bough theme") ?? ""); } catch { }

// --- The menu: always open in a wide window -----------------------------------------------------

const menu = document.getElementById("menu"), wide = matchMedia("(min-width: 821px)");
const follow = () => { menu.open = wide.matches; };
wide.addEventListener("change", follow);
follow();
const here = document.querySelector(".navigation [aria-current]");
if (here && wide.matches) here.closest(".navigation").scrollTop = Math.max(0, here.offsetTop - 200);

// --- Search --------------------------------------------------------------------------------------

let index = null, chosen = -1;
function searchIndex(entries) {
  index = entries.map(([title, kind, page, text]) => ({ title, kind, page, text, small: title.toLowerCase(), all: (title + " " + text).toLowerCase() }));
  show();
}
function load() {
  if (index !== null || document.getElementById("index")) return;
  const script = document.createElement("script");
  script.id = "index";
  script.src = root + "search.js";
  document.head.append(script);
}
// Where a word stands in a text: 2 where a word of it begins, 1 only within one, 0 nowhere.
function stands(text, word) {
  let found = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[a-z0-9]/.test(text[at - 1])) return 2;
    found = 1;
  }
  return found;
}
// How well an entry answers: the name itself first, then its beginning, a word of it, the text, parts of words.
// 0: a word is missing, unless `some` are enough.
function worth(entry, words, some) {
  let sum = 0;
  const last = entry.small.split("::").at(-1);
  for (const word of words) {
    if (entry.small === word || last === word) sum += 100;
    else if (last.startsWith(word)) sum += 60;
    else if (stands(entry.small, word) === 2) sum += 40;
    else {
      const part = [0, 1, 6][stands(entry.all, word)];
      if (part === 0 && !some) return 0;
      sum += part;
    }
  }
  if (sum === 0) return 0;
  if (entry.kind === "member") sum -= 30 * words.length - 1;
  return Math.max(sum, 1) - entry.title.length / 1000;
}
// What was typed, word by word, without what stands around a word in text or on a command line: --ranks, "in place".
const wordsOf = query => query.toLowerCase().split(/\s+/).map(word => word.replace(/^["'`-]+|["'`()]+$/g, "")).filter(Boolean);
// The entries that have all words; else those with the words behind MPI_; else those with some.
function find(query) {
  const words = wordsOf(query);
  if (!words.length || index === null) return [];
  const best = (words, some) => index.map(entry => [worth(entry, words, some), entry]).filter(([value]) => value > 0)
    .sort((a, b) => b[0] - a[0]).slice(0, 30).map(([, entry]) => entry);
  const bare = words.map(word => word.replace(/^mpi_(?=.)/, ""));
  for (const [of, some] of [[words, false], [bare, false], ...(words.length > 1 ? [[bare, true]] : [])]) {
    const found = best(of, some);
    if (found.length) return found;
  }
  return [];
}
function excerpt(entry) {
  const text = entry.text.toLowerCase(), at = wordsOf(field.value).map(word => text.indexOf(word)).find(at => at >= 0) ?? -1;
  return at > 120 ? "... " + entry.text.slice(at - 60, at + 160) : entry.text.slice(0, 200);
}
function show() {
  const found = find(field.value), any = field.value.trim() !== "" && index !== null;
  chosen = -1;
  list.replaceChildren(...found.map((entry, i) => {
    const item = document.createElement("li"), link = document.createElement("a"), kind = document.createElement("small"), text = document.createElement("p");
    item.id = "found" + i;
    item.setAttribute("role", "option");
    link.href = root + entry.page;
    link.tabIndex = -1;
    link.textContent = entry.title;
    kind.textContent = entry.kind;
    text.textContent = excerpt(entry);
    link.append(kind, text);
    item.append(link);
    return item;
  }));
  if (any && !found.length) {
    const none = document.createElement("li");
    none.textContent = "Nothing found.";
    list.append(none);
  }
  list.hidden = !any;
  field.setAttribute("aria-expanded", String(any));
}
function choose(next) {
  const items = list.querySelectorAll("[role=option]");
  if (!items.length) return;
  items[chosen]?.removeAttribute("aria-selected");
  chosen = (next + items.length) % items.length;
  items[chosen].setAttribute("aria-selected", "true");
  items[chosen].scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", items[chosen].id);
}
function close() {
  list.hidden = true;
  field.setAttribute("aria-expanded", "false");
}
field.addEventListener("focus", load);
field.addEventListener("input", () => { load(); show(); });
field.addEventListener("keydown", event => {
  if (event.key === "ArrowDown") choose(chosen + 1);
  else if (event.key === "ArrowUp") choose(chosen < 0 ? -1 : chosen - 1);
  else if (event.key === "Enter") { list.querySelectorAll("[role=option] a")[Math.max(chosen, 0)]?.click(); close(); }
  else if (event.key === "Escape") close();
  else return;
  event.preventDefault();
});
list.addEventListener("click", close);
document.addEventListener("click", event => { if (!event.target.closest(".search")) close(); });
document.addEventListener("keydown", event => {
  if (event.key === "/" && !event.target.closest("input, textarea, select")) { event.preventDefault(); field.focus(); }
});
