"""What every page must hold to be used without eyes, without a mouse, or with weak eyes. Run in the page."""

BROKEN = r"""
() => {
  const broken = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const seen = (one) => one.checkVisibility() && one.getBoundingClientRect().width > 1;
  const what = (one) => one.outerHTML.slice(0, 120);
  const named = (one) => (one.getAttribute("aria-label") ?? "").trim()
    || (one.getAttribute("aria-labelledby") ?? "").split(" ")
      .some((id) => document.getElementById(id)?.textContent.trim())
    || [...(one.labels ?? [])].some((label) => label.textContent.trim())
    || (one.matches("button, summary, a, th") && one.textContent.trim());

  if (!document.documentElement.lang) broken.push("no language");
  if (!document.title) broken.push("no title");
  for (const name of ["header", "main"]) if (all(name).length !== 1) broken.push(`not one ${name}`);
  if (all("h1").length !== 1) broken.push("not one h1");
  let level = 0;
  for (const one of all("h1, h2, h3, h4").filter(seen)) {
    const now = Number(one.tagName[1]);
    if (now > level + 1) broken.push(`a heading is left out before ${what(one)}`);
    level = now;
  }
  const ids = all("[id]").map((one) => one.id);
  if (new Set(ids).size < ids.length) broken.push("an id comes twice");
  for (const one of all("img")) if (!one.hasAttribute("alt")) broken.push(`no alt: ${what(one)}`);
  const controls = "button, input, select, textarea, summary, progress";
  for (const one of all(`${controls}, [role=img], main > section, aside`))
    if (seen(one) && !named(one)) broken.push(`no name: ${what(one)}`);
  for (const one of all("[tabindex]"))
    if (one.tabIndex > 0) broken.push(`its own order of tabs: ${what(one)}`);
  for (const one of all("button, select, summary, input:not([type=checkbox]), .tick").filter(seen)) {
    const box = one.getBoundingClientRect();
    if (Math.min(box.width, box.height) < 24) broken.push(`too small to hit: ${what(one)}`);
  }
  for (const one of all("ul, ol")) for (const part of one.children)
    if (part.tagName !== "LI") broken.push(`not an item of a list: ${what(part)}`);
  if (all("[aria-live]").length === 0) broken.push("nothing is said when something happens");

  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const colour = numbers(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const one = text.parentElement;
    if (!text.data.trim() || !seen(one) || one.closest("svg, :disabled, option, .unseen, script")) continue;
    const [a, b] = [light(numbers(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) broken.push(`hard to read (${contrast.toFixed(2)}): ${what(one)}`);
  }
  return broken;
}
"""
