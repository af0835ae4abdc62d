// The server as functions. An error is a Problem, with the server's own sentence.
import { $ } from "./dom.js";

const place = "onlinehash-key";
let key = read();
let asking = null;

export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export async function request(method, path, body) {
  const answer = await fetched(path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return answer.json();
}

// A picture that only those with the key may see, as an address that an <img> can show.
export async function picture(path) {
  if (!key) return path;
  return URL.createObjectURL(await (await fetched(path, {})).blob());
}

export class Index {
  constructor(name) {
    this.name = name;
    this.path = `/v1/indexes/${encodeURIComponent(name)}`;
  }

  async stats() {
    return (await request("GET", this.path)).stats;
  }

  page({ label, after, limit }) {
    const asked = new URLSearchParams({ limit });
    if (label) asked.set("where", JSON.stringify({ $labels: label }));
    if (after !== null) asked.set("after", after);
    return request("GET", `${this.path}/items?${asked}`);
  }

  async item(id) {
    return (await request("POST", `${this.path}/items/get`, { ids: [id] })).items[0];
  }

  async code(id) {
    const answer = await request("POST", `${this.path}/items/codes`, { ids: [id] });
    return { ...answer.codes[0], generation: answer.generation };
  }

  async search(id, k) {
    const answer = await request("POST", `${this.path}/search`, { ids: [id], k, payloads: true });
    return { ...answer, hits: answer.hits[0] };
  }

  tag(ids, label) {
    return request("POST", `${this.path}/tag`, { ids, labels: ids.map(() => [label]) });
  }

  // Events from those that the server has kept on; comes back by itself after a break.
  async follow(hear, lost) {
    let last = "0";
    for (;;) {
      try {
        const answer = await fetched(`${this.path}/events`, { headers: { "Last-Event-ID": last } });
        lost(false);
        for await (const event of events(answer.body)) {
          last = event.id ?? last;
          hear(event.kind, event.data);
        }
      } catch (error) {
        if (error instanceof Problem && error.status === 404) throw error;
      }
      lost(true);
      await new Promise((resume) => setTimeout(resume, 2000));
    }
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const fields = Object.fromEntries(part.split("\n").map((line) => {
        const colon = line.indexOf(": ");
        return [line.slice(0, colon), line.slice(colon + 2)];
      }));
      if (fields.data) yield { id: fields.id, kind: fields.event, data: JSON.parse(fields.data) };
    }
  }
}

async function fetched(path, how) {
  const given = key;
  const headers = { ...how.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  const answer = await fetch(path, { ...how, headers });
  if (answer.ok) return answer;
  if (answer.status === 401) {
    if (given === key) await ask();
    return fetched(path, how);
  }
  let detail = `${answer.status} ${answer.statusText}`;
  try { detail = (await answer.json()).detail ?? detail; } catch { /* not a problem in JSON */ }
  throw new Problem(answer.status, detail);
}

function ask() {
  asking ??= new Promise((resume) => {
    const dialog = $("ask");
    $("key").value = "";
    dialog.addEventListener("close", () => {
      key = $("key").value.trim();
      try { sessionStorage.setItem(place, key); } catch { /* until the page is left */ }
      asking = null;
      resume();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

function read() {
  try { return sessionStorage.getItem(place) ?? ""; } catch { return ""; }
}
