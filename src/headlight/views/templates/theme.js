// Light, dark, or as the system says; remembered where the browser allows it.
(() => {
  const root = document.documentElement;
  const names = { "": "as system", light: "light", dark: "dark" };
  const remember = (theme) => { try { localStorage.setItem("headlight-theme", theme); } catch { /* private window */ } };
  let theme = "";
  try { theme = localStorage.getItem("headlight-theme") ?? ""; } catch { /* private window */ }
  const apply = () => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    const button = document.querySelector(".theme");
    if (button) button.textContent = `Colours: ${names[theme] ?? names[""]}`;
    document.dispatchEvent(new Event("themechange"));
  };
  root.classList.add("scripted");
  apply();
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.querySelector(".theme")?.addEventListener("click", () => {
      const order = ["", "light", "dark"];
      theme = order[(order.indexOf(theme) + 1) % order.length];
      remember(theme);
      apply();
    });
  });
})();
