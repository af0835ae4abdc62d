// What is like one item. When the index has learnt, tiles move to their new places before one's eyes.
import { $, calm, make } from "./dom.js";
import { keyOf, pictureOf, tile, titleOf, withArrows } from "./tile.js";
import { plural } from "./words.js";

const K = 36;

export class Results {
  constructor(index, choose, selection) {
    Object.assign(this, { index, choose, selection });
    this.list = $("results");
    this.arrows = withArrows(this.list);
    this.example = null;
    this.hits = [];
    $("tick-all").addEventListener("click", () => selection.setAll(this.hits));
  }

  async of(example) {
    const found = await this.index.search(example.id, K);
    this.example = example;
    this.generation = found.generation;
    this.hits = found.hits;
    this.list.replaceChildren(...found.hits.map((hit) => this.tile(hit)));
    this.arrows.enter();
    this.selection.show();
    this.head();
    return found;
  }

  // Look again; how many of the tiles have changed their places.
  async again() {
    const example = this.example;
    if (!example) return 0;
    const found = await this.index.search(example.id, K);
    if (this.example !== example || found.generation < this.generation) return 0; // overtaken by another look
    this.generation = found.generation;
    return this.move(found.hits);
  }

  move(hits) {
    const ranks = new Map(this.hits.map((hit, rank) => [keyOf(hit.id), rank]));
    const there = new Map([...this.list.children].map((one) => [one.dataset.key, one]));
    const from = new Map([...there].map(([key, one]) => [key, one.getBoundingClientRect()]));
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    const tiles = hits.map((hit) => {
      const one = there.get(keyOf(hit.id));
      if (one) one.querySelector(".distance").textContent = distance(hit);
      return one ?? this.tile(hit);
    });
    const moved = hits.filter((hit, rank) => ranks.get(keyOf(hit.id)) !== rank).length;
    this.hits = hits;
    if (!moved) return 0;
    hits.forEach((hit, rank) => mark(tiles[rank], ranks.get(keyOf(hit.id)), rank));
    this.list.replaceChildren(...tiles);
    if (focused?.isConnected) focused.focus({ preventScroll: true });
    else this.arrows.enter();
    this.selection.show();
    if (!calm()) for (const one of tiles) slide(one, from.get(one.dataset.key));
    return moved;
  }

  tile(hit) {
    const { choose, selection } = this;
    const below = [make("span", { class: "below" },
      make("span", { class: "distance" }, distance(hit)), make("span", { class: "moved" }))];
    return tile(hit, { choose, selection, below });
  }

  head() {
    const { example } = this;
    $("example-picture").replaceChildren(pictureOf(example));
    $("results-title").textContent = `Like ${titleOf(example)}`;
    this.labels(example.labels ?? []);
    $("tick-all").hidden = !this.hits.length;
    $("none").hidden = this.hits.length > 0;
    $("none").textContent = "There is nothing else in the index.";
  }

  labels(labels) {
    $("example-labels").replaceChildren(...(labels.length
      ? labels.map((label) => make("span", { class: "chip" }, String(label)))
      : [make("span", { class: "quiet" }, "no label yet")]));
  }
}

const distance = (hit) => (Number.isInteger(hit.distance) ? String(hit.distance) : hit.distance.toPrecision(2));

function mark(one, before, rank) {
  const note = one.querySelector(".moved");
  const by = before === undefined ? null : before - rank;
  note.textContent = by === null ? "new" : by > 0 ? `↑${by}` : by < 0 ? `↓${-by}` : "";
  note.className = `moved ${by === null || by > 0 ? "up" : "down"}`;
  note.setAttribute("aria-label", by === null ? "new here" : by ? `${by > 0 ? "up" : "down"} ${plural(Math.abs(by), "place")}` : "");
  note.setAttribute("role", "note");
}

function slide(one, before) {
  const now = one.getBoundingClientRect();
  const frames = before
    ? [{ transform: `translate(${before.left - now.left}px, ${before.top - now.top}px)` }, { transform: "none" }]
    : [{ opacity: 0, transform: "scale(.8)" }, { opacity: 1, transform: "none" }];
  one.animate(frames, { duration: 650, easing: "cubic-bezier(.3, .8, .3, 1)" });
}
