"use strict";
// The page a terminal sends a person to. It signs in for this one answer, keeps the
// token in memory alone, and signs out when the answer is given.
const kept = "writ-device"; // what the address said, while a person signs in elsewhere
const brought = new URLSearchParams(location.hash.slice(1)).get("code");
const query = new URLSearchParams(location.search || sessionStorage.getItem(kept) || "");
const at = (id) => document.getElementById(id);
const say = (text) => { at("message").textContent = text; };
const rights = {
  "ingest": "send traces and token usage",
  "enforce": "declare plans and ask for decisions",
  "audit": "report what was executed",
  "delegation.request": "ask people for approval",
  "profile.propose": "stage policy profiles and propose them; they take effect only when a person confirms them",
  "cli": "list and switch between your organizations, and make and revoke your keys",
};
let token = "";
let asked = {scopes: []}; // the request of the terminal
let organizations = [];

async function call(method, path, body) {
  const headers = token ? {Authorization: "Bearer " + token} : {};
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {method, headers, body: body && JSON.stringify(body)});
  const text = await answer.text();
  const content = text ? JSON.parse(text) : {};
  if (!answer.ok) {
    const problem = new Error(content.message || "The server answered " + answer.status + ".");
    problem.code = content.code;
    problem.status = answer.status;
    throw problem;
  }
  return content;
}

function item(parent, tag, text, value) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (value !== undefined) element.value = value;
  parent.append(element);
  return element;
}

function show(request, me) {
  at("shown").textContent = request.userCode;
  at("address").textContent = request.address;
  at("agent").textContent = request.userAgent || "not told";
  at("product").textContent = request.product || query.get("product") || "not told";
  at("who").textContent = me.user.email;
  asked = request;
  organizations = me.organizations;
  for (const scope of request.scopes) item(at("rights"), "li", rights[scope] || scope);
  const wanted = query.get("org");
  for (const org of me.organizations) {
    const option = item(at("organization"), "option", org.name, org.id);
    if (wanted && (wanted === org.id || wanted === org.name)) option.selected = true;
  }
  at("session").checked = request.client === "writ";
  showGets();
  at("signin").hidden = true;
  at("answer").hidden = false;
}

const chosen = () => organizations.find((org) => org.id === at("organization").value);
const hasKeys = () => (chosen()?.rights || []).includes("keys.own");

// showGets says what the terminal gets in the chosen organization: a role without keys gives it none.
function showGets() {
  const keys = hasKeys();
  const session = asked.client === "writ"; // no other gets a session, whatever is ticked
  at("gets").textContent = keys ? "The key will be able to" : "It gets";
  at("rights").hidden = !keys;
  at("never").hidden = !keys;
  at("keyless").hidden = keys;
  at("keyless").textContent = keys ? "" : withoutKey(session, chosen()?.role);
  at("acting").hidden = !session || !keys;
  at("approve").disabled = !keys && !session;
}

function withoutKey(session, role) {
  if (!session) return "nothing, because it wants a key, which needs an organization and a role that has keys.";
  if (!role) return "no key, because you are in no organization. It acts as you, and can accept an invitation.";
  return "no key, because a " + role + " has none. It acts as you, and reads what you may read.";
}

async function signIn() {
  let me = await call("POST", "/auth/login", {email: at("email").value, password: at("password").value});
  if (me.secondFactor) me = await finish(me.secondFactor.challenge);
  at("password").value = "";
  await judge(me);
}

// finish takes the code of the second factor, once the person has entered one.
async function finish(challenge) {
  const code = at("factor").value;
  at("factors").hidden = false;
  if (!code) throw new Error("Enter the code of your second factor as well.");
  at("factor").value = "";
  return call("POST", "/auth/login/second-factor", {challenge, code});
}

// comeBack goes on where a person left to sign in elsewhere.
async function comeBack() {
  sessionStorage.removeItem(kept);
  history.replaceState(null, "", location.pathname);
  await judge(await call("POST", "/auth/sign-in-code", {code: brought}));
}

// leave sends a person to sign in elsewhere, and tells the server to bring them back here.
async function leave(path) {
  query.set("user_code", at("code").value);
  sessionStorage.setItem(kept, query.toString());
  document.cookie = "writ_return=device; path=/auth; max-age=600; samesite=lax";
  location.assign(path);
}

async function leaveForProvider() {
  if (!at("email").value) throw new Error("Enter your e-mail address: it tells whose sign-in is yours.");
  await leave("/auth/oidc?email=" + encodeURIComponent(at("email").value));
}

async function judge(me) {
  token = me.accessToken;
  try {
    show(await call("GET", "/auth/device/request?userCode=" + encodeURIComponent(at("code").value)), me);
  } catch (problem) {
    await signOut();
    throw problem;
  }
}

async function signOut() {
  await call("POST", "/auth/logout").catch(() => {}); // it ends by itself
  token = "";
}

async function approve() {
  const code = at("proof").value;
  at("proof").value = "";
  if (code) await call("POST", "/user/second-factor/proof", {code});
  try {
    await answer("/auth/device/approve",
      chosen() ? {organizationId: chosen().id, keyOnly: hasKeys() && !at("session").checked} : {},
      "The terminal is signed in. You can close this page.");
  } catch (problem) {
    if (problem.status === 403 && problem.code !== "second_factor_required") {
      throw new Error(problem.message + ". The terminal waits until somebody answers: Deny ends that.");
    }
    if (problem.code !== "second_factor_required") throw problem;
    at("proofs").hidden = false;
    throw new Error("Enter the code of your second factor first.");
  }
}

async function answer(path, body, done) {
  await call("POST", path, {userCode: at("shown").textContent, ...body});
  at("answer").hidden = true;
  say(done);
  await signOut();
}

function attempt(action) {
  return (event) => {
    event.preventDefault();
    say("");
    return action().catch((problem) => say(problem.message));
  };
}

at("code").value = query.get("user_code") || "";
at("signin").addEventListener("submit", attempt(signIn));
at("google").addEventListener("click", attempt(() => leave("/auth/google")));
at("provider").addEventListener("click", attempt(leaveForProvider));
at("answer").addEventListener("submit", attempt(approve));
at("organization").addEventListener("change", showGets);
at("deny").addEventListener("click", attempt(() => answer("/auth/device/deny", {}, "The terminal was turned away. You can close this page.")));
if (brought) addEventListener("load", attempt(comeBack));
