// An item's bits: the base code, which never changes, and the live code, before and after.
import { $, draw, make } from "./dom.js";
import { keyOf, titleOf } from "./tile.js";
import { plural } from "./words.js";

const CELL = 10;

export class Codes {
  constructor(index) {
    this.index = index;
    this.item = null;
    this.first = null; // the live code to compare with
  }

  async of(item) {
    const other = this.item === null || keyOf(this.item.id) !== keyOf(item.id);
    this.item = item;
    if (other) this.first = null;
    await this.again();
  }

  async again() {
    const { item } = this;
    if (!item) return;
    let code;
    try {
      code = await this.index.code(item.id);
    } catch {
      $("code").replaceChildren(make("p", { class: "hint" }, "There is no code before the index is initialised."));
      return;
    }
    if (this.item !== item) return;
    this.first ??= code;
    this.show(code);
  }

  show(code) {
    const { first } = this;
    const flipped = [...code.live_bits].filter((bit, i) => bit !== first.live_bits[i]).length;
    const anew = make("button", { type: "button", click: () => { this.first = code; this.show(code); } }, "Compare from here");
    anew.hidden = first.generation === code.generation;
    const focus = document.activeElement?.closest("#code") !== null && document.activeElement?.closest("#code") !== undefined;
    $("code-of").textContent = titleOf(this.item);
    $("code").replaceChildren(
      bits("Base code", "hashed once, never changes", code.base_bits, code.base),
      bits("Live code, before", `generation ${first.generation}`, first.live_bits, first.live),
      bits("Live code, now", `generation ${code.generation}`, code.live_bits, code.live, first.live_bits),
      make("p", { class: "quiet flips" },
        first.generation === code.generation ? "Tag something, and see which bits turn over."
          : `${plural(flipped, "bit")} of ${code.live_bits.length} turned over.`, anew));
    if (focus && anew.hidden) $("code-title").focus?.();
  }
}

function bits(title, note, text, hex, before = text) {
  const across = text.length > 128 ? 32 : 16;
  const rows = Math.ceil(text.length / across);
  const changed = [...text].filter((bit, i) => bit !== before[i]).length;
  const picture = draw("svg", {
    class: "bits", viewBox: `0 0 ${across * CELL} ${rows * CELL}`, role: "img",
    "aria-label": `${title}, ${text.length} bits, ${changed ? `${changed} turned over, ` : ""}in hexadecimal ${hex}`,
  });
  [...text].forEach((bit, i) => {
    const x = (i % across) * CELL, y = Math.floor(i / across) * CELL;
    const kind = `${bit === "1" ? "one" : "zero"}${bit === before[i] ? "" : " turned"}`;
    picture.append(draw("rect", { class: kind, x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, rx: 2 }));
    if (bit !== before[i]) picture.append(draw("circle", { class: "spot", cx: x + CELL / 2, cy: y + CELL / 2, r: 1.6 }));
  });
  return make("figure", {}, make("figcaption", {}, make("span", {}, title), make("span", { class: "quiet" }, note)), picture);
}
