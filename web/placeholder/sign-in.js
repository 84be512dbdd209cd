"use strict";
// Ends a sign-in that began elsewhere: the callback leaves a code in the fragment of
// this page's address, and half of it in a cookie. The code is exchanged once, the
// token stays in memory, and whatever the server tells is shown as text.
const brought = new URLSearchParams(location.hash.slice(1));
const at = (id) => document.getElementById(id);
const say = (text) => { at("message").textContent = text; };
let token = "";

async function call(path, body) {
  const headers = token ? {Authorization: "Bearer " + token} : {};
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {method: "POST", headers, body: body && JSON.stringify(body)});
  const text = await answer.text();
  const content = text ? JSON.parse(text) : {};
  if (!answer.ok) throw new Error(content.message || "The server answered " + answer.status + ".");
  return content;
}

function show(me) {
  at("title").textContent = "You are signed in";
  at("who").textContent = me.user.email;
  for (const organization of me.organizations) {
    const item = document.createElement("li");
    item.textContent = organization.name + " (" + organization.role + ")";
    at("organizations").append(item);
  }
  at("limit").textContent = me.limitedTo ? "Your organization's identity provider vouches for you there, and nowhere else." : "";
  at("signin").hidden = true;
  at("signedin").hidden = false;
}

async function arrive() {
  const code = brought.get("code");
  if (brought.get("linked")) say("The identity is linked to your account. You can sign in with it from now on.");
  if (!code) return;
  history.replaceState(null, "", location.pathname); // it is of no use to anybody now
  const me = await call("/auth/sign-in-code", {code});
  token = me.accessToken;
  show(me);
}

async function leave() {
  location.assign("/auth/oidc?email=" + encodeURIComponent(at("email").value));
}

async function signOut() {
  await call("/auth/logout");
  token = "";
  at("signedin").hidden = true;
  at("signin").hidden = false;
  at("title").textContent = "You are signed out";
}

function attempt(action) {
  return (event) => {
    event.preventDefault();
    say("");
    return action().catch((problem) => say(problem.message));
  };
}

at("signin").addEventListener("submit", attempt(leave));
at("signout").addEventListener("click", attempt(signOut));
addEventListener("load", attempt(arrive));
