// Numbers as people read them.
const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export const count = (n) => whole.format(n);

export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (n >= 1000 && unit < units.length - 1) {
    n /= 1000;
    unit += 1;
  }
  return `${short.format(n)} ${units[unit]}`;
}

export const share = (x) => (x === null || x === undefined ? "–" : `${(100 * x).toFixed(1)}%`);

export const milliseconds = (ms) => `${ms < 1 ? ms.toFixed(2) : ms < 10 ? ms.toFixed(1) : whole.format(Math.round(ms))} ms`;

export const precision = (x) => (x === null || x === undefined ? "–" : x.toFixed(3));

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// "generation 17 → 18: 1,797 codes refreshed in 0.4 ms, 3.1% of bits flipped, no vector read"
export function sentence(event) {
  const flipped = event.flipped === null ? "" : `, ${share(event.flipped)} of bits flipped`;
  return `generation ${event.before} → ${event.generation}: ${plural(event.refreshed, "code")} refreshed in ` +
    `${milliseconds(event.milliseconds)}${flipped}, no vector read`;
}
