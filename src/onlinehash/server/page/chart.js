// Three lines over the generations, each on its own scale: mAP, mistakes, flipped bits.
import { $, draw, make } from "./dom.js";
import { precision, share } from "./words.js";

const LINES = [
  { name: "map", title: "mAP on held-out items", words: precision, height: 120, whole: true },
  { name: "mistakes", title: "bits wrong before they were learnt", words: share, height: 58 },
  { name: "flipped", title: "bits flipped by the refresh", words: share, height: 58 },
];
const ROWS = 100; // of the table
const LEFT = 2, RIGHT = 8, TOP = 10, BOTTOM = 6;

export class Chart {
  constructor() {
    this.points = new Map(); // by generation
    this.at = null; // the generation under the pointer
    this.waits = false;
    new ResizeObserver(() => this.soon()).observe($("chart"));
  }

  add(generation, figures) {
    this.points.set(generation, { ...this.points.get(generation), ...figures, generation });
    this.soon();
  }

  soon() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.show();
    });
  }

  show() {
    const points = [...this.points.values()].sort((a, b) => a.generation - b.generation);
    const width = $("chart").clientWidth;
    if (!width) return;
    if (!points.length) {
      $("chart").replaceChildren(make("p", { class: "hint" }, "Tag something, and what is learnt is drawn here."));
      return;
    }
    $("generation").textContent = `generation ${points.at(-1).generation}`;
    $("chart").replaceChildren(...LINES.map((line) => this.panel(line, points, width)).filter(Boolean));
    $("table").replaceChildren(...points.slice(-ROWS).reverse().map((point) => make("tr", {},
      make("th", { scope: "row" }, String(point.generation)),
      ...LINES.map((line) => make("td", {}, line.words(point[line.name]))))));
  }

  panel(line, all, width) {
    const points = all.filter((point) => typeof point[line.name] === "number");
    if (!points.length) return null;
    const first = all[0].generation, last = Math.max(all.at(-1).generation, first + 1);
    const values = points.map((point) => point[line.name]);
    const low = line.whole ? Math.max(0, Math.floor(10 * Math.min(...values) - 0.5) / 10) : 0;
    const high = line.whole ? Math.min(1, Math.ceil(10 * Math.max(...values) + 0.2) / 10) : Math.max(...values, 1e-9);
    const bottom = line.height - BOTTOM;
    const x = (point) => LEFT + ((point.generation - first) / (last - first)) * (width - LEFT - RIGHT);
    const y = (value) => bottom - ((value - low) / (high - low || 1)) * (bottom - TOP);
    const path = points.map((point, i) => `${i ? "L" : "M"}${x(point).toFixed(1)} ${y(point[line.name]).toFixed(1)}`).join("");
    const shown = points.findLast((point) => this.at === null || point.generation <= this.at) ?? points[0];
    const begin = x(points[0]).toFixed(1), end = x(points.at(-1)).toFixed(1);
    const picture = draw("svg", {
      class: `line ${line.name}`, viewBox: `0 0 ${width} ${line.height}`, height: line.height, role: "img",
      "aria-label": `${line.title}: ${line.words(values[0])} at generation ${points[0].generation}, ` +
        `${line.words(values.at(-1))} at generation ${points.at(-1).generation}`,
      pointermove: (event) => {
        const box = picture.getBoundingClientRect();
        const along = (event.clientX - box.left - LEFT) / (width - LEFT - RIGHT);
        this.at = Math.round(first + Math.min(1, Math.max(0, along)) * (last - first));
        this.soon();
      },
      pointerleave: () => { this.at = null; this.soon(); },
    },
      ...(line.whole ? [low, high] : [0]).map((value) => draw("line", {
        class: "grid", x1: 0, x2: width, y1: y(value), y2: y(value) })),
      ...(line.whole ? [low, high].map((value) => draw("text", {
        class: "scale", x: 0, y: y(value) - 3 }, value.toFixed(1))) : []),
      draw("path", { class: "area", d: `${path}L${end} ${bottom}L${begin} ${bottom}Z` }),
      draw("path", { class: "stroke", d: path }),
      this.at === null ? null : draw("line", { class: "cursor", x1: x(shown), x2: x(shown), y1: TOP, y2: bottom }),
      draw("circle", { class: "dot", cx: x(shown), cy: y(shown[line.name]), r: 3.5 }));
    return make("figure", {}, make("figcaption", {},
      make("span", {}, line.title),
      make("b", {}, line.words(shown[line.name])),
      this.at === null ? null : make("span", { class: "quiet" }, `at ${shown.generation}`)), picture);
  }
}
