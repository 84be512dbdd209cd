// Runs the script of the device page with as much of a browser as it touches, and
// prints what the page shows in the end.
const steps = JSON.parse(process.env.STEPS);
const page = await (await fetch(process.env.SERVER + "/auth/device" + steps.search)).text();
const elements = new Map();

function element(tag) {
  const made = {
    tag, value: "", textContent: "", checked: false, selected: false, children: [], listeners: {},
    append(child) { this.children.push(child); },
    addEventListener(kind, listener) { this.listeners[kind] = listener; },
  };
  if (tag === "select") {
    Object.defineProperty(made, "value", {get() {
      return (this.children.find((child) => child.selected) || this.children[0] || {value: ""}).value;
    }});
  }
  return made;
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
const stored = new Map(Object.entries(steps.stored || {}));
globalThis.location = {search: steps.search, hash: steps.hash || "", pathname: "/auth/device", assign(path) { left = path; }};
globalThis.history = {replaceState(_, __, path) { location.hash = ""; location.search = path.slice(location.pathname.length); }};
globalThis.sessionStorage = {
  getItem: (name) => stored.get(name) ?? null, setItem: (name, value) => stored.set(name, value), removeItem: (name) => stored.delete(name),
};
globalThis.document = {getElementById: at, createElement: element, cookie: ""};
globalThis.fetch = (path, options) => direct(process.env.SERVER + path,
  {...options, headers: {...options.headers, ...(steps.cookie ? {Cookie: steps.cookie} : {})}});
(0, eval)(page.match(/<script>([^]*)<\/script>/)[1]);
await loaded({preventDefault() {}});

const fire = (id, kind) => at(id).listeners[kind]({preventDefault() {}});
at("email").value = steps.email;
at("password").value = steps.password;
if (steps.act) await fire("signin", "submit");
if (steps.leave) await fire(steps.leave, "click");
const session = at("session").checked;
if (steps.press === "approve") await fire("answer", "submit");
const afterApproval = at("message").textContent;
if (steps.press === "deny" || steps.thenDeny) await fire("deny", "click");

const text = (id) => at(id).textContent;
console.log(JSON.stringify({
  message: text("message"), afterApproval, shown: text("shown"), address: text("address"), product: text("product"), who: text("who"),
  rights: at("rights").children.map((child) => child.textContent), session, actingHidden: at("acting").hidden,
  rightsHidden: at("rights").hidden, keyless: text("keyless"), approveDisabled: at("approve").disabled === true, answerHidden: at("answer").hidden,
  googleHidden: at("google").hidden, left, stored: Object.fromEntries(stored), cookie: document.cookie, hash: location.hash,
}));
