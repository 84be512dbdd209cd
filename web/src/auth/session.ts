// Who is signed in. The refresh token is in a cookie that no script reads; the
// access token is in the memory of each tab. One tab refreshes for all.
import type { Body } from "../api/client";
import { ApiError, errorOf, unreachable } from "../api/errors";
import { readStored, store } from "../ui/stored";
import { isAlone, withLock } from "./lock";
import { subjectOf } from "./subject";

/** Session is what this tab knows about who is signed in. */
export type Session =
  | { state: "unknown" } // not asked yet
  /** ended: it ended by itself while this person worked; the page stays. */
  | { state: "out"; ended: boolean; user?: string }
  | { state: "in"; token: string; expires: number; user: string };

type In = Extract<Session, { state: "in" }>;

const early = 60_000; // before its end, a token is replaced
const hint = "writ.signed-in"; // saves people who are not signed in a refused request
const unsent = "writ.sign-out"; // a sign-out that the server has not heard of
const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("writ.session");

type Message =
  /** began: somebody signed in; else a token was replaced. */
  | { kind: "token"; began: boolean; token: string; expires: number }
  | { kind: "out" }
  | { kind: "ended"; user: string }
  | { kind: "ask" };

let session: Session = { state: "unknown" };
let person: string | undefined; // whose data this tab has
let round = 0; // sign-outs; what began before one is dropped
let refreshing: Promise<string | undefined> | undefined;
const listeners = new Set<() => void>();
const cleaners = new Set<() => void>();

export const getSession = () => session;

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** onSignOut calls back when what is known must be forgotten: at a sign-out, and for another person. */
export function onSignOut(clean: () => void): void {
  cleaners.add(clean);
}

function set(next: Session) {
  const leaves = next.state === "out" && !next.ended;
  const another = next.state === "in" && person !== undefined && person !== next.user;
  session = next;
  if (leaves) round++;
  if (person !== undefined && (leaves || another)) for (const clean of cleaners) clean();
  if (leaves) person = undefined;
  else if (next.state === "in") person = next.user;
  for (const listener of listeners) listener();
}

channel?.addEventListener("message", (event: MessageEvent<Message>) => {
  const message = event.data;
  if (message.kind === "out") set({ state: "out", ended: false });
  else if (message.kind === "ended") {
    if (session.state === "in" && session.user === message.user) end();
  } else if (message.kind === "token") {
    // A token that was replaced while somebody signed out here opens nothing again.
    if (session.state !== "out" || message.began) set(inWith(message.token, message.expires));
  } else if (session.state === "in" && fresh(session)) tellToken(session, false);
});

const tell = (message: Message) => channel?.postMessage(message);
const tellToken = (s: In, began: boolean) => tell({ kind: "token", began, token: s.token, expires: s.expires });
const inWith = (token: string, expires: number): In => ({ state: "in", token, expires, user: subjectOf(token) });
const fresh = (s: In) => s.expires - Date.now() > early;

function end() {
  if (session.state === "in") set({ state: "out", ended: true, user: session.user });
  else if (session.state === "unknown") set({ state: "out", ended: false });
}

/** currentToken is the access token, renewed shortly before it ends; undefined: nobody is signed in. */
export async function currentToken(): Promise<string | undefined> {
  if (session.state === "unknown") await restore();
  if (session.state === "in" && fresh(session)) return session.token;
  return session.state === "in" ? renewToken() : undefined;
}

/**
 * renewToken gets a new access token in the place of one that was refused or ends soon, by this tab or by another.
 * Undefined: nobody is signed in.
 */
export function renewToken(refused?: string): Promise<string | undefined> {
  if (session.state === "out") return Promise.resolve(undefined);
  if (session.state === "in" && refused !== undefined && session.token !== refused && fresh(session))
    return Promise.resolve(session.token);
  refreshing ??= refreshOnce().finally(() => {
    refreshing = undefined;
  });
  return refreshing;
}

async function refreshOnce(): Promise<string | undefined> {
  const before = session.state === "in" ? session.token : "";
  return withLock("writ.refresh", async () => {
    // Another tab may have done it while this one waited, or somebody signed out.
    if (session.state === "out") return undefined;
    if (session.state === "in" && session.token !== before && fresh(session)) return session.token;
    const began = round;
    try {
      const tokens = (await post("/auth/refresh", {})) as Body<"TokensBody">;
      if (began !== round) return undefined;
      return take(tokens, false).token;
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 401 && error.status !== 403)) throw error;
      if (began !== round) return undefined;
      store(hint, "no");
      if (person !== undefined) tell({ kind: "ended", user: person });
      end();
      return undefined;
    }
  });
}

/** restore finds out whether somebody is signed in: from another tab, or with the cookie. */
export async function restore(): Promise<void> {
  if (session.state !== "unknown") return;
  if (signOutIsUnsent()) await sendSignOut().catch(() => {}); // it is tried again
  // A browser that never signed in here has no hint, and no cookie either.
  if (signOutIsUnsent() || (readStored(hint) !== "yes" && remembers())) {
    set({ state: "out", ended: false });
    return;
  }
  // Where there is nobody to ask, nobody is waited for.
  if (!(await isAlone())) await askOtherTabs();
  if (session.state === "unknown") await renewToken();
}

// Without storage every start asks the server.
function remembers(): boolean {
  store("writ.probe", "1");
  return readStored("writ.probe") === "1";
}

function askOtherTabs(): Promise<void> {
  if (!channel) return Promise.resolve();
  return new Promise((done) => {
    const stop = subscribe(() => finish());
    const finish = () => {
      clearTimeout(timer);
      stop();
      done();
    };
    const timer = setTimeout(finish, 80);
    tell({ kind: "ask" });
  });
}

function take(tokens: { accessToken: string; expiresIn: number }, began: boolean): In {
  const next = inWith(tokens.accessToken, Date.now() + tokens.expiresIn * 1000);
  store(hint, "yes");
  set(next);
  tellToken(next, began);
  return next;
}

let unsentHere = false; // where there is no storage

/** signOutIsUnsent reports whether somebody signed out here and the server could not be told. */
export const signOutIsUnsent = () => unsentHere || readStored(unsent) === "yes";

/**
 * signOut ends the session in every tab. Where the server cannot be told, it fails, and the server is told before
 * anybody signs in here again.
 */
export async function signOut(): Promise<void> {
  unsentHere = true;
  store(unsent, "yes");
  store(hint, "no");
  tell({ kind: "out" });
  set({ state: "out", ended: false });
  await sendSignOut();
}

/** leave signs out. The page that follows says so if the server could not be told. */
export const leave = () => void signOut().catch(() => {});

// The cookie says which session ends: the access token may have expired. A refresh that
// is under way comes first, else it would bring a newer cookie afterwards.
async function sendSignOut(): Promise<void> {
  await withLock("writ.refresh", async () => {
    if (!signOutIsUnsent()) return;
    try {
      await post("/auth/logout");
    } catch (error) {
      const answered = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
      if (!answered) throw error;
    }
    unsentHere = false;
    store(unsent, undefined);
  });
}

const retryEvery = 10_000;

/** keepSigningOut tells the server again and again, until it has heard. It gives what ends it. */
export function keepSigningOut(told: () => void): () => void {
  const attempt = () => {
    if (signOutIsUnsent()) sendSignOut().then(told, () => {});
  };
  const timer = setInterval(attempt, retryEvery);
  addEventListener("online", attempt);
  return () => {
    clearInterval(timer);
    removeEventListener("online", attempt);
  };
}

/** login opens a session with a password. With a second factor it gives the challenge that a code must follow. */
export async function login(email: string, password: string): Promise<string | undefined> {
  if (signOutIsUnsent()) await sendSignOut();
  const answer = (await post("/auth/login", { email, password })) as Body<"LoginBody">;
  if (answer.secondFactor) return answer.secondFactor.challenge;
  take({ accessToken: answer.accessToken ?? "", expiresIn: answer.expiresIn ?? 0 }, true);
  return undefined;
}

/** finishLogin opens the session of a challenge with a code of the second factor. */
export async function finishLogin(challenge: string, code: string): Promise<void> {
  take((await post("/auth/login/second-factor", { challenge, code })) as Body<"SignedInBody">, true);
}

/** exchangeCode ends a sign-in that began at an identity provider. */
export async function exchangeCode(code: string): Promise<void> {
  if (signOutIsUnsent()) await sendSignOut();
  take((await post("/auth/sign-in-code", { code })) as Body<"SignedInBody">, true);
}

let dialogs = 0; // that let a person in above the page

/** offerSignIn says that a page can let a person in again. It gives what ends it. */
export function offerSignIn(): () => void {
  dialogs++;
  return () => {
    dialogs--;
  };
}

/**
 * backAgain waits until the person whose session ended has signed in again, and gives their token. Undefined: nobody
 * is awaited, or somebody else came.
 */
export function backAgain(signal?: AbortSignal): Promise<string | undefined> {
  const awaited = dialogs > 0 && session.state === "out" && session.ended ? session.user : undefined;
  if (awaited === undefined) return Promise.resolve(undefined);
  return new Promise((done, fail) => {
    const look = () => {
      if (session.state === "in")
        finish(() => done(session.state === "in" && session.user === awaited ? session.token : undefined));
      else if (session.state === "out" && !session.ended) finish(() => done(undefined));
    };
    const abort = () => finish(() => fail(signal?.reason));
    const finish = (then: () => void) => {
      stop();
      signal?.removeEventListener("abort", abort);
      then();
    };
    const stop = subscribe(look);
    signal?.addEventListener("abort", abort);
  });
}

// These routes alone take the cookie, and only with this header.
async function post(path: string, body?: unknown): Promise<unknown> {
  const headers: Record<string, string> = { "Writ-Session": "cookie" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, { method: "POST", headers, body: body === undefined ? null : JSON.stringify(body) });
  } catch (cause) {
    throw unreachable(cause);
  }
  const text = await response.text();
  if (!response.ok) throw errorOf(response, text);
  return text ? JSON.parse(text) : undefined;
}
