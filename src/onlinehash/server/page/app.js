// The page put together: one index, one example, and what happens when something has been learnt.
import { Index, request } from "./api.js";
import { Chart } from "./chart.js";
import { Codes } from "./codes.js";
import { $, calm, make, say, trouble } from "./dom.js";
import { Figures } from "./figures.js";
import { Gallery } from "./gallery.js";
import { Results } from "./results.js";
import { Selection } from "./selection.js";
import { Stream } from "./stream.js";
import { Tagging } from "./tagging.js";
import { plural, sentence } from "./words.js";

const OFTEN = 700; // milliseconds between two looks at the results while labels stream in

async function begin() {
  const { indexes } = await request("GET", "/v1/indexes");
  const names = indexes.filter((one) => !one.problem).map((one) => one.name);
  const asked = decodeURIComponent(location.hash.slice(1));
  const name = names.includes(asked) ? asked : names[0];
  $("index").replaceChildren(...names.map((one) => make("option", { value: one }, one)));
  $("index").value = name ?? "";
  $("index").addEventListener("change", () => {
    location.hash = encodeURIComponent($("index").value);
    location.reload();
  });
  if (name === undefined) {
    trouble("There is no index yet: onlinehash create and onlinehash add make one.");
    return;
  }
  await serve(new Index(name));
}

async function serve(index) {
  const figures = new Figures(await index.stats());
  const chart = new Chart();
  const codes = new Codes(index);
  const selection = new Selection((n) => tagging.show(n));
  const tagging = new Tagging(index, selection, async (label, n) => {
    const moved = await look();
    say(`${plural(n, "item")} tagged ${label}. ${$("news").textContent}. ${plural(moved, "result")} moved.`);
  });
  const results = new Results(index, (item) => choose(item), selection);
  const gallery = new Gallery(index, (item) => choose(item, true), selection);

  async function choose(item, down = false) {
    try {
      const full = (await index.item(item.id)) ?? item;
      const found = await results.of(full);
      tagging.know(full.labels ?? []);
      await codes.of(full);
      trouble(null);
      say(`${plural(found.hits.length, "item")} like ${$("results-title").textContent.slice(5)}.`);
      mark(full.id);
      if (down && $("found").getBoundingClientRect().top > innerHeight / 2) {
        $("found").scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
      }
    } catch (error) {
      trouble(error.message);
    }
  }

  function mark(id) {
    for (const tile of $("gallery").children) {
      const chosen = tile.dataset.key === JSON.stringify(id);
      tile.classList.toggle("chosen", chosen);
      if (chosen) tile.querySelector("button").setAttribute("aria-current", "true");
      else tile.querySelector("button").removeAttribute("aria-current");
    }
  }

  // Look again at what is shown; how many results have moved.
  async function look() {
    const moved = await results.again();
    await codes.again();
    if (results.example) results.labels((await index.item(results.example.id))?.labels ?? []);
    return moved;
  }

  let waits = false;
  function lookSoon() {
    if (waits) return;
    waits = true;
    setTimeout(() => {
      waits = false;
      look().catch((error) => trouble(error.message));
    }, OFTEN);
  }

  let stream = null;
  const started = figures.stats.generation;
  const hearing = {
    pulse: (data) => figures.pulse(data),
    items: () => {},
    generation: (data) => {
      chart.add(data.generation, { map: data.map, mistakes: data.mistakes_P, flipped: data.flipped });
      if (data.generation <= started) return; // kept by the server from before
      figures.learnt(data);
      $("news").textContent = sentence(data);
      lookSoon();
    },
    stream: (data) => stream?.show(data),
  };

  const { stream: path } = await request("GET", "settings.json");
  if (path) {
    stream = new Stream(path);
    for (const point of await stream.begin()) chart.add(point.generation, point);
  }
  chart.show();
  const [first] = await gallery.show();
  if (first) await choose(first);
  document.body.dataset.ready = "true";
  await index.follow(
    (kind, data) => hearing[kind]?.(data),
    (lost) => document.body.classList.toggle("lost", lost),
  );
}

begin().catch((error) => trouble(error.message));
