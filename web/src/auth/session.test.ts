import { afterEach, beforeEach, expect, it, vi } from "vitest";

type Tab = typeof import("./session");

// A browser: storage, locks and a cookie, which all tabs share. A tab is a copy of the module.
const storage = new Map<string, string>();
let cookie: string | undefined; // whose session it is
let away = false;
let asked: string[];
let hold: Promise<void> | undefined; // what a refresh waits for
let lock = Promise.resolve();
let tabs: { name: string }[] = []; // that are open

const tokenOf = (user: string, n: number) => `x.${btoa(JSON.stringify({ sub: user, n }))}.y`;
let issued = 0;

async function server(path: string, init: RequestInit): Promise<Response> {
  asked.push(path);
  if (away) throw new TypeError("no route");
  const give = (user: string | undefined) =>
    user
      ? Response.json({ accessToken: tokenOf(user, ++issued), expiresIn: 900 })
      : Response.json({ message: "refused" }, { status: 401 });
  if (path === "/auth/refresh") {
    const whose = cookie;
    await hold;
    return give(whose);
  }
  if (path === "/auth/logout") {
    cookie = undefined;
    return new Response(null, { status: 204 });
  }
  cookie = JSON.parse(init.body as string).email;
  return give(cookie);
}

async function openTab(): Promise<Tab> {
  vi.resetModules();
  return import("./session");
}

const soon = () => new Promise((done) => setTimeout(done, 30));

beforeEach(() => {
  tabs = [];
  storage.clear();
  cookie = undefined;
  away = false;
  asked = [];
  hold = undefined;
  lock = Promise.resolve();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => storage.get(key) ?? null,
    setItem: (key: string, value: string) => storage.set(key, value),
    removeItem: (key: string) => storage.delete(key),
  });
  vi.stubGlobal("fetch", server);
  vi.stubGlobal("navigator", {
    locks: {
      query: async () => ({ held: [...tabs] }),
      request: (name: string, act: (() => Promise<unknown>) | { mode: string }) => {
        // A share of a lock is held until the tab is closed.
        if (typeof act !== "function") return tabs.push({ name });
        const run = lock.then(act as () => Promise<unknown>);
        lock = run.then(
          () => {},
          () => {},
        );
        return run;
      },
    },
  });
});
afterEach(() => vi.unstubAllGlobals());

it("keeps the page when the session ends, and asks the server once", async () => {
  const tab = await openTab();
  const clean = vi.fn();
  tab.onSignOut(clean);
  tab.offerSignIn();
  await tab.login("ada", "secret");
  cookie = undefined; // ended elsewhere
  expect(await tab.renewToken()).toBeUndefined();
  expect(await tab.renewToken()).toBeUndefined();
  expect(await tab.currentToken()).toBeUndefined();
  expect(tab.getSession()).toEqual({ state: "out", ended: true, user: "ada" });
  expect(clean).not.toHaveBeenCalled();
  expect(asked.filter((path) => path === "/auth/refresh")).toHaveLength(1);
  const back = tab.backAgain();
  await tab.login("ada", "secret");
  expect(await back).toBe(tokenOf("ada", issued));
  expect(clean).not.toHaveBeenCalled();
});

it("waits for nobody where no page can let them in", async () => {
  const tab = await openTab();
  await tab.login("ada", "secret");
  cookie = undefined;
  await tab.renewToken();
  expect(await tab.backAgain()).toBeUndefined();
});

it("forgets everything when another person signs in, and sends nothing of the first", async () => {
  const tab = await openTab();
  const clean = vi.fn();
  tab.onSignOut(clean);
  tab.offerSignIn();
  await tab.login("ada", "secret");
  cookie = undefined;
  await tab.renewToken();
  const back = tab.backAgain();
  await tab.login("bob", "secret");
  expect(clean).toHaveBeenCalledTimes(1);
  expect(await back).toBeUndefined();
});

it("tells other tabs who signed in, that it ended, and that it is over", async () => {
  const [a, b] = [await openTab(), await openTab()];
  const clean = vi.fn();
  a.onSignOut(clean);
  await a.login("ada", "secret");
  await soon();
  expect(b.getSession()).toMatchObject({ state: "in", user: "ada" });
  await b.login("bob", "secret");
  await soon();
  expect(a.getSession()).toMatchObject({ state: "in", user: "bob" });
  expect(clean).toHaveBeenCalledTimes(1);
  cookie = undefined;
  await b.renewToken();
  await soon();
  expect(a.getSession()).toEqual({ state: "out", ended: true, user: "bob" });
  await b.signOut();
  await soon();
  expect(a.getSession()).toEqual({ state: "out", ended: false });
  expect(clean).toHaveBeenCalledTimes(2);
});

it("ends the session though its access token has expired", async () => {
  const tab = await openTab();
  await tab.login("ada", "secret");
  vi.spyOn(Date, "now").mockReturnValue(Date.now() + 3_600_000);
  await tab.signOut();
  expect(cookie).toBeUndefined();
  expect(tab.signOutIsUnsent()).toBe(false);
});

it("drops a refresh that was under way while somebody signed out", async () => {
  const [a, b] = [await openTab(), await openTab()];
  await a.login("ada", "secret");
  await soon();
  let go = () => {};
  hold = new Promise((done) => {
    go = done;
  });
  const renewed = b.renewToken();
  await soon();
  const out = a.signOut();
  await soon();
  go();
  expect(await renewed).toBeUndefined();
  await out;
  await soon();
  for (const tab of [a, b]) expect(tab.getSession()).toEqual({ state: "out", ended: false });
  expect(asked.at(-1)).toBe("/auth/logout"); // after the refresh, whose cookie is newer
  expect(cookie).toBeUndefined();
});

it("says when the server could not be told, and tells it before anything else", async () => {
  const tab = await openTab();
  await tab.login("ada", "secret");
  away = true;
  await expect(tab.signOut()).rejects.toThrow();
  expect(tab.getSession()).toEqual({ state: "out", ended: false });
  away = false;
  asked = [];
  const next = await openTab();
  await next.restore();
  expect(asked).toEqual(["/auth/logout"]);
  expect(next.getSession()).toEqual({ state: "out", ended: false });
  expect(cookie).toBeUndefined();
});

it("does not sign in over a session that was to end", async () => {
  const tab = await openTab();
  await tab.login("ada", "secret");
  away = true;
  await tab.signOut().catch(() => {});
  await expect(tab.login("bob", "secret")).rejects.toThrow();
  away = false;
  asked = [];
  await tab.login("bob", "secret");
  expect(asked).toEqual(["/auth/logout", "/auth/login"]);
});

it("asks nothing for people who never signed in here", async () => {
  const tab = await openTab();
  expect(await tab.currentToken()).toBeUndefined();
  expect(asked).toEqual([]);
});

it("asks other tabs only where there are any", async () => {
  cookie = "ada";
  storage.set("writ.signed-in", "yes");
  const said: string[] = [];
  const ear = new BroadcastChannel("writ.session");
  ear.onmessage = (event: MessageEvent<{ kind: string }>) => said.push(event.data.kind);
  await (await openTab()).restore();
  await vi.waitFor(() => expect(said).toEqual(["token"]));
  const second = await openTab();
  await second.restore();
  expect(second.getSession().state).toBe("in");
  await vi.waitFor(() => expect(said).toContain("ask"));
  ear.close();
});
