// Elements made in one call. Text is only ever set as text: nothing that comes from data becomes markup.
export const $ = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

// Said once by a screen reader.
export function say(text) {
  $("say").textContent = text;
}

export function trouble(text) {
  $("trouble").hidden = !text;
  $("trouble").textContent = text ?? "";
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
