// Elements of a drawing.
/** The name space of drawings, without its address, so that a page names none. */
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").body.firstChild.namespaceURI;

/** An element, with its text and the title that is shown on hover; attributes that are undefined are left out. */
export function drawn(name, attributes, text, title) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (title) made.append(drawn("title", {}, title));
  return made;
}
