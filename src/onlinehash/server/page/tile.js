// An item as a tile: its picture, which is a button, and a box to tick.
import { picture } from "./api.js";
import { make } from "./dom.js";

const PICTURES = ["thumbnail", "image", "url", "path"];
const TITLES = ["title", "name", "path"];

// Ids are texts or numbers, and 1 is not "1".
export const keyOf = (id) => JSON.stringify(id);

export function titleOf(item) {
  for (const name of TITLES) {
    const value = item.payload?.[name];
    if (typeof value === "string" && value) return name === "path" ? value.split(/[/\\]/).pop() : value;
  }
  return String(item.id);
}

// Only what can be a picture: data of an image, an address, or a file under the media folder.
function addressOf(item) {
  for (const name of PICTURES) {
    const value = item.payload?.[name];
    if (typeof value !== "string" || !value) continue;
    if (/^(data:image\/|https?:\/\/)/i.test(value)) return value;
    if (/^[a-z][a-z0-9+.-]*:/i.test(value) || value.startsWith("/")) continue;
    return `/media/${value.split(/[/\\]/).map(encodeURIComponent).join("/")}`;
  }
  return null;
}

export function pictureOf(item) {
  const address = addressOf(item);
  const words = make("span", { class: "words" }, titleOf(item));
  if (!address) return words;
  const image = make("img", { alt: "", loading: "lazy", decoding: "async", draggable: "false" });
  image.addEventListener("error", () => image.replaceWith(words), { once: true });
  if (address.startsWith("/media/")) {
    picture(address).then((found) => { image.src = found; }, () => image.replaceWith(words));
  } else image.src = address;
  return image;
}

export function tile(item, { choose, selection, below = [] }) {
  const title = titleOf(item);
  const box = make("input", {
    type: "checkbox", "aria-label": `Tick ${title}`, change: () => selection.set(item, box.checked),
  });
  box.checked = selection.has(item.id);
  const element = make("li", { class: "tile" },
    make("button", {
      type: "button", class: "picture", title: [title, ...(item.labels ?? [])].join(" · "),
      "aria-label": `What is like ${title}?`, click: () => choose(item),
    }, pictureOf(item)),
    make("label", { class: "tick" }, box),
    ...below);
  element.dataset.key = keyOf(item.id);
  return element;
}

// Arrow keys go from tile to tile, and only one tile is a stop for the tab key.
export function withArrows(list) {
  const tiles = () => [...list.children];
  const stops = (one) => one.querySelectorAll("button, input");
  const enter = (one) => {
    for (const other of tiles()) for (const stop of stops(other)) stop.tabIndex = other === one ? 0 : -1;
  };
  list.addEventListener("focusin", (event) => enter(event.target.closest("li")));
  list.addEventListener("keydown", (event) => {
    const all = tiles();
    const at = all.indexOf(event.target.closest("li"));
    const columns = Math.max(1, all.findIndex((one) => one.offsetTop > all[0].offsetTop));
    const to = {
      ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + columns, ArrowUp: at - columns,
      Home: 0, End: all.length - 1,
    }[event.key];
    if (to === undefined || !all[to]) return;
    event.preventDefault();
    stops(all[to])[event.target.matches("input") ? 1 : 0].focus();
  });
  return { enter: () => { if (list.firstElementChild) enter(list.firstElementChild); } };
}
