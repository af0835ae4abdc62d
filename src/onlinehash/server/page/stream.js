// The demo's stream of labels: pause, step, speed. Only where the server has one.
import { request } from "./api.js";
import { $, make, say, trouble } from "./dom.js";
import { count } from "./words.js";

const PACES = [["1", "slow"], ["4", "calm"], ["12", "fast"], ["0", "at once"]];

export class Stream {
  constructor(path) {
    this.path = path;
    this.state = null;
    $("pace").replaceChildren(...PACES.map(([value, name]) => make("option", { value }, name)));
    $("play").addEventListener("click", () => this.send(this.state?.playing ? { do: "pause" } : { do: "play" }));
    $("step").addEventListener("click", () => this.send({ do: "step" }));
    $("pace").addEventListener("change", () => this.send({ pace: Number($("pace").value) }));
    $("again").addEventListener("click", async () => {
      if (await this.send({ do: "restart" })) location.reload();
    });
  }

  async begin() {
    const answer = await request("GET", this.path);
    this.show(answer);
    $("stream").hidden = false;
    return answer.history;
  }

  async send(order) {
    try {
      this.show(await request("POST", this.path, order));
      return true;
    } catch (error) {
      trouble(error.message);
      return false;
    }
  }

  show(state) {
    if (this.state && state.run !== this.state.run) location.reload(); // started again, elsewhere
    if (this.state && state.labelled < this.state.labelled) return; // an event from before this page came
    const ended = state.labelled >= state.total;
    if (ended && this.state && this.state.labelled < state.total) say("All labels have been streamed.");
    this.state = state;
    $("stream-count").textContent = `${count(state.labelled)} of ${count(state.total)} labelled`;
    $("stream-progress").max = state.total;
    $("stream-progress").value = state.labelled;
    $("play").textContent = ended ? "Done" : state.playing ? "Pause" : "Play";
    $("play").disabled = $("step").disabled = ended;
    const pace = String(state.pace);
    if (document.activeElement !== $("pace")) $("pace").value = pace;
  }
}
