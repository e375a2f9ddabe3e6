// What a gallery loads when it is asked for: scripts beside the page, as a page that is opened from
// disk may load nothing else.
const store = new Map();
window.headlightData = (name, value) => store.set(name, value);

export function loaded(name, address) {
  if (store.has(name)) return Promise.resolve(store.get(name));
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", () => resolve(store.get(name)));
    script.addEventListener("error", () => reject(new Error(`${address} cannot be loaded`)));
    document.head.append(script);
  });
}
