// Runs the script of /ui/ with as much of a browser as it touches, and prints what
// the page shows in the end.
const steps = JSON.parse(process.env.STEPS);
const open = async (path) => (await fetch(process.env.SERVER + path)).text();
const page = await open("/ui/");
const script = await open(page.match(/<script src="([^"]+)" defer>/)[1]);
const elements = new Map();

function element(tag) {
  return {
    tag, value: "", textContent: "", children: [], listeners: {},
    append(child) { this.children.push(child); },
    addEventListener(kind, listener) { this.listeners[kind] = listener; },
  };
}

for (const [, tag, attributes, id, rest] of page.matchAll(/<(\w+)([^>]*?) id="(\w+)"([^>]*)>/g)) {
  const made = element(tag);
  made.hidden = /\bhidden\b/.test(attributes + rest);
  elements.set(id, made);
}
const at = (id) => {
  if (!elements.has(id)) throw new Error("the page has no " + id);
  return elements.get(id);
};

const direct = globalThis.fetch;
let left = "", loaded = async () => {};
globalThis.addEventListener = (kind, listener) => { if (kind === "load") loaded = listener; };
globalThis.location = {hash: steps.hash || "", pathname: "/ui/", assign(path) { left = path; }};
globalThis.history = {replaceState(_, __, path) { location.hash = path === "/ui/" ? "" : path; }};
globalThis.document = {getElementById: at, createElement: element};
globalThis.fetch = (path, options) => direct(process.env.SERVER + path,
  {...options, headers: {...options.headers, ...(steps.cookie ? {Cookie: steps.cookie} : {})}});
(0, eval)(script);

const event = {preventDefault() {}};
await loaded(event);
const text = (id) => at(id).textContent;
const seen = {
  title: text("title"), message: text("message"), who: text("who"), limit: text("limit"), hash: location.hash,
  organizations: at("organizations").children.map((child) => child.textContent),
  signedIn: !at("signedin").hidden, form: !at("signin").hidden,
};
if (steps.signOut) await at("signout").listeners.click(event);
if (steps.email) {
  at("email").value = steps.email;
  await at("signin").listeners.submit(event);
}
console.log(JSON.stringify({...seen, left, titleAfter: text("title"), messageAfter: text("message")}));
