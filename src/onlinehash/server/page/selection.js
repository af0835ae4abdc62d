// What is ticked, in whichever list it is shown.
import { keyOf } from "./tile.js";

export class Selection {
  constructor(changed) {
    this.items = new Map();
    this.changed = changed;
  }

  has(id) {
    return this.items.has(keyOf(id));
  }

  set(item, ticked) {
    if (ticked) this.items.set(keyOf(item.id), item);
    else this.items.delete(keyOf(item.id));
    this.show();
  }

  setAll(items) {
    this.items = new Map(items.map((item) => [keyOf(item.id), item]));
    this.show();
  }

  ids() {
    return [...this.items.values()].map((item) => item.id);
  }

  show() {
    for (const tile of document.querySelectorAll(".tile")) {
      const ticked = this.items.has(tile.dataset.key);
      tile.classList.toggle("ticked", ticked);
      tile.querySelector("input").checked = ticked;
    }
    this.changed(this.items.size);
  }
}
