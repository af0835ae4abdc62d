// Items, bytes an item, memory, queries a second.
import { $, make } from "./dom.js";
import { bytes, count } from "./words.js";

export class Figures {
  constructor(stats) {
    this.stats = stats;
    this.items = stats.items;
    this.rate = 0;
    this.show();
  }

  // What comes every second.
  pulse(data) {
    const now = performance.now();
    if (this.last) this.rate = Math.max(0, (1000 * (data.queries - this.last.queries)) / (now - this.last.at));
    this.last = { at: now, queries: data.queries };
    this.items = data.items;
    this.show();
  }

  learnt(data) {
    this.stats = { ...this.stats, memory: data.memory, disk: data.disk };
    this.items = data.items;
    this.show();
  }

  show() {
    const { stats } = this;
    const stored = stats.base_bits === null ? null : Math.ceil(stats.base_bits / 8);
    const searched = Math.ceil(stats.n_bits / 8);
    const parts = [
      ["items", count(this.items), ""],
      ["bytes an item", stored === null ? "–" : count(stored + searched), stored === null ? "" : `${stored} stored, ${searched} searched`],
      ["memory", bytes(stats.memory), "of codes"],
      ["queries a second", this.rate < 10 ? this.rate.toFixed(1) : count(Math.round(this.rate)), ""],
    ];
    $("figures").replaceChildren(...parts.map(([name, value, note]) =>
      make("div", { title: note || null }, make("dt", {}, name), make("dd", {}, value))));
  }
}
