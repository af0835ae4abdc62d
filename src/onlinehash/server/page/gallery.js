// Items page by page.
import { $, trouble } from "./dom.js";
import { tile, withArrows } from "./tile.js";
import { count } from "./words.js";

const LIMIT = 48;

export class Gallery {
  constructor(index, choose, selection) {
    Object.assign(this, { index, choose, selection });
    this.list = $("gallery");
    this.arrows = withArrows(this.list);
    this.label = "";
    this.starts = [null]; // where each page up to this one begins
    $("back").addEventListener("click", () => this.turn(-1));
    $("on").addEventListener("click", () => this.turn(1));
    $("filter").addEventListener("submit", (event) => event.preventDefault());
    $("filter-label").addEventListener("change", (event) => {
      this.label = event.target.value.trim();
      this.starts = [null];
      this.show();
    });
  }

  async turn(step) {
    if (step > 0) this.starts.push(this.next);
    else this.starts.pop();
    await this.show();
  }

  // The items of this page, shown.
  async show() {
    let found;
    try {
      found = await this.index.page({ label: this.label, after: this.starts.at(-1), limit: LIMIT });
    } catch (error) {
      trouble(error.message);
      return [];
    }
    this.next = found.next;
    const { choose, selection } = this;
    this.list.replaceChildren(...found.items.map((item) => tile(item, { choose, selection })));
    this.arrows.enter();
    this.selection.show();
    const before = (this.starts.length - 1) * LIMIT;
    $("page").textContent = found.items.length
      ? `${count(before + 1)} – ${count(before + found.items.length)}`
      : this.label ? "none has this label" : "no items yet";
    $("back").disabled = this.starts.length === 1;
    $("on").disabled = this.next === null;
    return found.items;
  }
}
