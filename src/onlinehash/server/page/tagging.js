// The bar that gives the ticked items a tag, from which the index learns.
import { $, make, say, trouble } from "./dom.js";
import { plural } from "./words.js";

export class Tagging {
  constructor(index, selection, learnt) {
    Object.assign(this, { index, selection, learnt });
    this.known = new Set();
    $("tagging").addEventListener("submit", (event) => {
      event.preventDefault();
      this.tag();
    });
    $("untick").addEventListener("click", () => {
      selection.setAll([]);
      $("results-title").focus();
    });
  }

  // How many are ticked has changed.
  show(n) {
    $("tagging").hidden = n === 0;
    document.body.classList.toggle("tagging", n > 0);
    $("ticked").textContent = `${plural(n, "item")} ticked`;
  }

  async tag() {
    const label = $("tag").value.trim();
    const ids = this.selection.ids();
    if (!label || !ids.length) return;
    const button = $("tagging").querySelector("[type=submit]");
    button.disabled = true;
    try {
      await this.index.tag(ids, label);
      trouble(null);
      this.know([label]);
      $("tag").value = "";
      this.selection.setAll([]);
      $("results-title").focus({ preventScroll: true });
      await this.learnt(label, ids.length);
    } catch (error) {
      trouble(error.message);
      say(error.message);
    } finally {
      button.disabled = false;
    }
  }

  // Labels that have been seen, to choose from.
  know(labels) {
    for (const label of labels.map(String)) {
      if (this.known.has(label)) continue;
      this.known.add(label);
      $("known").append(make("option", { value: label }));
    }
  }
}
