// The colour ramps of the page, as they stand in its style sheet, in 256 steps.
const STEPS = 21, UNKNOWN = 256;
let ramps = new Map(), variables = new Map();

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const packed = ([red, green, blue], alpha = 255) => ((alpha << 24) | (blue << 16) | (green << 8) | red) >>> 0;

/** A ramp as words for the pixels of an image; the last one is that of numbers which are not known. */
export function rampOf(name) {
  if (ramps.has(name)) return ramps.get(name);
  const style = getComputedStyle(document.documentElement);
  const stops = Array.from({ length: STEPS }, (_, at) => channels(style.getPropertyValue(`--${name}-${at}`).trim()));
  const found = new Uint32Array(257);
  for (let level = 0; level < 256; level += 1) {
    const place = (level / 255) * (STEPS - 1), left = Math.min(Math.floor(place), STEPS - 2), part = place - left;
    found[level] = packed(stops[left].map((from, at) => Math.round(from + (stops[left + 1][at] - from) * part)));
  }
  found[UNKNOWN] = packed(channels(style.getPropertyValue("--none").trim()));
  ramps.set(name, found);
  return found;
}

/** After the theme has changed. */
export const forgetColours = () => { ramps = new Map(); variables = new Map(); };

/** A colour of the style sheet; asked for once, since to ask makes the browser compute all styles. */
export function variable(name) {
  if (!variables.has(name)) variables.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return variables.get(name);
}

export const hex = (word) => `#${[0, 8, 16].map((shift) => ((word >> shift) & 255).toString(16).padStart(2, "0")).join("")}`;

/** From OKLab (Ottosson 2020), whose lightness is as even as the eye's, to the colours of a screen. */
function screenColour(lightness, chroma, hue) {
  const a = chroma * Math.cos(hue), b = chroma * Math.sin(hue);
  const [l, m, s] = [0.3963377774 * a + 0.2158037573 * b, -0.1055613458 * a - 0.0638541728 * b, -0.0894841775 * a - 1.291485548 * b].map((by) => (lightness + by) ** 3);
  const linear = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s, -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
  return hex(packed(linear.map((part) => Math.round(255 * Math.min(Math.max(part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055, 0), 1)))));
}

/** Of a head among others: hues by the golden angle, which are far apart whatever their number, in three lightnesses. */
export const headColour = (head) => screenColour(Number(variable("--heads")) + 0.08 * (head % 3), 0.15, (30 + head * 137.508) * (Math.PI / 180));

/** The step of a value: by its root, so that small ones are seen; two-sided around the middle. */
export const level = (value, top, twoSided) => {
  if (Number.isNaN(value)) return UNKNOWN;
  const share = Math.sqrt(Math.min(Math.abs(value) / top, 1));
  if (twoSided) return Math.round(127.5 + Math.sign(value) * 127.5 * share);
  return value > 0 ? Math.round(255 * share) : 0;
};

/** The steps of all values of a map, as `level` gives them. */
export function levels(values, top, twoSided) {
  const found = new Uint16Array(values.length);
  for (let place = 0; place < values.length; place += 1) {
    const value = values[place], size = (value < 0 ? -value : value) / top, share = Math.sqrt(size < 1 ? size : 1);
    // To add a half and cut is to round, and what is stored is cut.
    if (Number.isNaN(value)) found[place] = UNKNOWN;
    else if (twoSided) found[place] = 128 + (value < 0 ? -127.5 : 127.5) * share;
    else found[place] = value > 0 ? 255 * share + 0.5 : 0;
  }
  return found;
}

/** A pen for a canvas of this size in CSS pixels, emptied; one of the same size keeps its memory. */
export function sharp(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1, wide = Math.round(width * ratio), high = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  } else {
    pen.reset();
  }
  pen.scale(ratio, ratio);
  return pen;
}

/** The pixels of a small canvas, kept from one drawing to the next. @type {WeakMap<HTMLCanvasElement, ImageData>} */
const kept = new WeakMap();

/** Draw pixel by pixel: `fill` is given a word for each, row by row, and has to write them all. */
export function pixelate(canvas, columns, rows, fill) {
  if (canvas.width !== columns || canvas.height !== rows) { canvas.width = columns; canvas.height = rows; }
  let image = kept.get(canvas);
  if (image?.width !== columns || image?.height !== rows) kept.set(canvas, image = new ImageData(columns, rows));
  fill(new Uint32Array(image.data.buffer));
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}
