// Pictures are images, whose text says which of their shapes stand for which heads: see heads.py.
(() => {
const NEAR = 9;
const tooltip = document.getElementById("tooltip");
const figures = [...document.querySelectorAll(".picture")].filter((figure) => figure.querySelector(".drawing"));
const read = new Map();

// Where the shape of a head stands, in the units of the picture.
function spotOf(shape, head) {
  if (shape.localName === "use") {
    return { head, x: Number(shape.getAttribute("x")), y: Number(shape.getAttribute("y")), width: 0, height: 0 };
  }
  const numbers = (shape.getAttribute("d").match(/-?[\d.]+/g) ?? []).map(Number);
  const [across, down] = [0, 1].map((side) => numbers.filter((_, index) => index % 2 === side));
  const x = Math.min(...across), y = Math.min(...down);
  return { head, x, y, width: Math.max(...across) - x, height: Math.max(...down) - y };
}

function pictureOf(figure) {
  if (!read.has(figure)) {
    const bytes = Uint8Array.from(atob(figure.querySelector(".drawing").src.split(",")[1]), (each) => each.charCodeAt(0));
    const drawn = new DOMParser().parseFromString(new TextDecoder().decode(bytes), "image/svg+xml");
    const spots = [...drawn.querySelectorAll('[id^="heads-"]')].flatMap((group) => {
      const shapes = [...group.querySelectorAll("use, path")].filter((shape) => !shape.closest("defs"));
      const heads = group.id.split(".").slice(1);
      return shapes.map((shape, index) => spotOf(shape, heads[index])).filter((spot) => spot.head);
    });
    const { namespaceURI: language } = drawn.documentElement;
    read.set(figure, { box: drawn.documentElement.getAttribute("viewBox"), language, spots });
  }
  return read.get(figure);
}

function nearest(figure, event) {
  const { box, spots } = pictureOf(figure);
  if (!spots.length) return null;
  const [left, top, width] = box.split(" ").map(Number);
  const seen = figure.querySelector(".drawing").getBoundingClientRect();
  const scale = width / seen.width;
  const x = left + (event.clientX - seen.left) * scale, y = top + (event.clientY - seen.top) * scale;
  const away = (spot) => Math.hypot(
    Math.max(spot.x - x, 0, x - spot.x - spot.width), Math.max(spot.y - y, 0, y - spot.y - spot.height),
  );
  const best = spots.reduce((one, other) => (away(other) < away(one) ? other : one));
  return away(best) < NEAR ? best.head : null;
}

function shapeOf(spot, language) {
  const cell = spot.width > 0;
  const shape = document.createElementNS(language, cell ? "rect" : "circle");
  const about = cell ? { x: spot.x, y: spot.y, width: spot.width, height: spot.height } : { cx: spot.x, cy: spot.y, r: 4.5 };
  Object.entries(about).forEach(([name, value]) => shape.setAttribute(name, value));
  return shape;
}

// The head that is pointed at is ringed in every picture of its kind of attention.
function ring(head, group) {
  document.querySelectorAll(".rings").forEach((rings) => rings.remove());
  if (!head) return;
  figures.filter((figure) => figure.dataset.group === group).forEach((figure) => {
    const { box, language, spots } = pictureOf(figure);
    const mine = spots.filter((spot) => spot.head === head);
    if (!mine.length) return;
    const drawing = figure.querySelector(".drawing");
    const rings = document.createElementNS(language, "svg");
    rings.setAttribute("class", "rings");
    rings.setAttribute("viewBox", box);
    rings.setAttribute("aria-hidden", "true");
    const { offsetLeft: left, offsetTop: top, offsetWidth: width, offsetHeight: height } = drawing;
    Object.entries({ left, top, width, height }).forEach(([name, value]) => { rings.style[name] = `${value}px`; });
    rings.append(...mine.map((spot) => shapeOf(spot, language)));
    drawing.after(rings);
  });
}

// On a narrow screen columns of panels stand one below the other: each is the whole picture, of
// which the other columns are out of sight.
const narrow = matchMedia("(max-width: 700px)");
function stack() {
  figures.forEach((figure) => {
    const drawing = figure.querySelector(".drawing");
    const starts = drawing.dataset.columns.split(" ").map((percent) => percent / 100);
    figure.querySelectorAll(".column").forEach((column) => column.remove());
    drawing.hidden = narrow.matches && starts.length > 1;
    if (!drawing.hidden) return;
    const wide = parseFloat(drawing.style.getPropertyValue("--wide"));
    drawing.parentElement.append(...starts.map((start, index) => {
      const share = (starts[index + 1] ?? 1) - start;
      const column = document.createElement("div"), shown = drawing.cloneNode();
      column.className = "column";
      column.style.width = `${share * wide}px`;
      shown.hidden = false;
      if (index) shown.alt = "";
      shown.style.width = `${100 / share}%`;
      shown.style.marginLeft = `${(-100 * start) / share}%`;
      column.append(shown);
      return column;
    }));
  });
}
narrow.addEventListener("change", stack);
stack();

document.addEventListener("headpointed", ({ detail }) => ring(detail.head, detail.group));
function pointAt(head, group) {
  document.dispatchEvent(new CustomEvent("headpointed", { detail: { head, group } }));
}

figures.forEach((figure) => {
  const drawing = figure.querySelector(".drawing");
  let shown = null;
  drawing.addEventListener("pointermove", (event) => {
    const head = nearest(figure, event);
    if (head !== shown) pointAt(head, figure.dataset.group);
    shown = head;
    tooltip.hidden = !head;
    if (!head) return;
    tooltip.textContent = head;
    const left = Math.min(event.clientX + 14, window.innerWidth - tooltip.offsetWidth - 8);
    tooltip.style.left = `${Math.max(left, 8)}px`;
    tooltip.style.top = `${Math.max(event.clientY - tooltip.offsetHeight - 10, 8)}px`;
  });
  drawing.addEventListener("pointerleave", () => { shown = null; tooltip.hidden = true; pointAt(); });
  figure.querySelector(".save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = drawing.src;
    link.download = `${figure.dataset.name}.svg`;
    link.click();
  });
});
})();
