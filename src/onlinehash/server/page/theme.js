// Light or dark: as the system says, or as was chosen here. Runs before anything is drawn.
{
  const place = "onlinehash-theme";
  const read = () => { try { return localStorage.getItem(place) ?? ""; } catch { return ""; } };
  const apply = (theme) => { document.documentElement.dataset.theme = theme; };
  apply(read());
  addEventListener("DOMContentLoaded", () => {
    const choice = document.getElementById("theme");
    choice.value = read();
    choice.addEventListener("change", () => {
      apply(choice.value);
      try { localStorage.setItem(place, choice.value); } catch { /* a private window: until it is closed */ }
    });
  });
}
