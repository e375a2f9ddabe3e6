// The app around the view: a text is typed, a model reads it on this machine, and the view opens.
import { opened } from "./frame.js";

const byId = (id) => document.getElementById(id);
const said = byId("said"), view = byId("view");
const place = () => new URLSearchParams(location.hash.slice(1));

// The token comes with the address and does not stay in it; the tab remembers it.
const token = place().get("token") ?? sessionStorage.getItem("headlight-token") ?? "";
sessionStorage.setItem("headlight-token", token);
if (place().has("token")) history.replaceState(null, "", location.pathname);

async function asked(path, sent) {
  const headers = { Authorization: `Bearer ${token}`, ...(sent ? { "Content-Type": "application/json" } : {}) };
  const answer = await fetch(path, { method: sent ? "POST" : "GET", headers, body: sent && JSON.stringify(sent) });
  if (answer.ok) return answer;
  throw new Error(answer.status === 401 ? "Open the address that the terminal shows: it holds the token of this app." : await answer.text());
}

const newName = () => `${Date.now()}-${Math.random()}`;

/** What a function of the model gives; its steps are told while it works (server-sent events). */
async function ask(name, params, onProgress, request) {
  const answer = await asked(`/functions/${name}`, { ...params, request });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("The app has stopped; the terminal says why.");
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const step = JSON.parse(event.replace(/^data: /, ""));
      if (step.refused !== undefined) throw new Error(step.refused);
      if (step.result !== undefined) return step.result;
      onProgress(step);
    }
  }
}

/** Blobs over HTTP, which inflates them itself. @type {(reading: string) => import("./host.js").Source} */
const httpSource = (reading) => ({
  async get(name) {
    const answer = await asked(`/readings/${reading}/blob/${name}`);
    return new Uint8Array(await answer.arrayBuffer());
  },
});

/** @type {(reading: string) => import("./host.js").Host} */
const hostOf = (reading) => ({
  ...httpSource(reading),
  can: view.dataset.can.split(" ").filter(Boolean),
  ask(name, params, onProgress, signal) {
    const request = newName();
    signal.addEventListener("abort", () => asked("/cancel", { request }));
    return ask(name, { ...params, reading }, onProgress, request);
  },
  address: () => `#${location.hash.replace(/^#(reading=[^&]*&?)?/, "")}`,
  remember: (address) => history.replaceState(null, "", `#reading=${reading}&${address.slice(1)}`),
  link: (address) => `${location.href.split("#")[0]}#reading=${reading}&${address.slice(1)}`,
});

async function open(reading) {
  const answer = await asked(`/readings/${reading}`);
  opened(view, await answer.text(), hostOf(reading));
  document.body.dataset.reading = reading;
}

let running = "";

function show(step) {
  byId("progress").hidden = !step;
  byId("cancel").hidden = !step;
  byId("ask").querySelectorAll("#read, #generate").forEach((each) => { each.disabled = Boolean(step); });
  if (!step) return;
  if (step.of) byId("progress").value = step.done / step.of; else byId("progress").removeAttribute("value");
  said.textContent = step.of ? `${step.what}: ${step.done} of ${step.of}` : step.what;
}

async function attempt(act) {
  said.textContent = "";
  try { await act(); } catch (trouble) { said.textContent = trouble.message; } finally { show(null); }
}

const MOST_BYTES = 10_000_000;

/** The content of a chosen picture in base64; nothing where none is chosen. */
function imageOf(file) {
  if (!file) return null;
  if (file.size > MOST_BYTES) throw new Error("A picture of at most 10 MB is read; make it smaller.");
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.split(",")[1]);
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
}

const valueOf = (id) => byId(id)?.value || null;

// A chat, message by message.
const messages = byId("messages");
const isChat = () => document.querySelector('input[name="as"]:checked')?.value === "chat";

function tellRemovable() {
  messages.querySelectorAll(".remove").forEach((each) => { each.disabled = messages.children.length === 1; });
}

/** Add a message of whoever speaks next: the user, who is answered by the assistant. */
function addMessage() {
  const last = messages.lastElementChild?.querySelector("select").value;
  messages.append(byId("message").content.cloneNode(true));
  messages.lastElementChild.querySelector("select").value = last === "user" ? "assistant" : "user";
  messages.lastElementChild.querySelector("textarea").focus();
  tellRemovable();
}

function showFields() {
  for (const id of ["text-field", "pair-field"]) byId(id).hidden = isChat();
  byId("text").required = !isChat();
  byId("chat-field").hidden = !isChat();
  if (isChat() && !messages.children.length) addMessage();
}

document.querySelectorAll('input[name="as"]').forEach((each) => each.addEventListener("change", showFields));
byId("add-message")?.addEventListener("click", addMessage);
messages?.addEventListener("click", ({ target }) => {
  if (target.className !== "remove") return;
  target.closest("li").remove();
  tellRemovable();
});

/** The text, or the messages of a chat. */
const typed = () => (isChat() ? Array.from(messages.children, (each) => ({ role: each.querySelector("select").value, content: each.querySelector("textarea").value })) : valueOf("text"));

const read = (name) => attempt(async () => {
  running = newName();
  show({ what: "waiting" });
  const image = await imageOf(byId("image")?.files[0]);
  const { reading } = await ask(name, { image, text: typed(), pair: isChat() ? null : valueOf("pair"), compare: valueOf("compare"), compare_model: byId("compare-model")?.checked ?? false }, show, running);
  history.replaceState(null, "", `#reading=${reading}`);
  await open(reading);
  said.textContent = "";
});

byId("ask").addEventListener("submit", (event) => { event.preventDefault(); read("read"); });
byId("generate")?.addEventListener("click", () => { if (byId("ask").reportValidity()) read("generate"); });
byId("ask").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("ask").requestSubmit(); });
byId("cancel").addEventListener("click", () => attempt(() => asked("/cancel", { request: running })));
// The view within chooses light or dark, and remembers it for both.
addEventListener("storage", ({ key, newValue }) => {
  if (key !== "headlight-theme") return;
  if (newValue) document.documentElement.dataset.theme = newValue; else delete document.documentElement.dataset.theme;
});
addEventListener("hashchange", () => {
  const reading = place().get("reading");
  if (reading && reading !== document.body.dataset.reading) attempt(() => open(reading));
  else view.querySelector("iframe")?.contentWindow.dispatchEvent(new Event("hashchange"));
});
if (place().has("reading")) attempt(() => open(place().get("reading")));
else if (!token) attempt(() => asked("/readings/none"));
document.documentElement.dataset.ready = "yes";
