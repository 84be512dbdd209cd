// A real server with a data folder of its own, for as long as the tests run.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../bin/writd", import.meta.url));

/** startServer starts writd on a free port and gives its address and first secrets. */
export async function startServer(settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), "writ-e2e-"));
  const child = spawn(program, ["serve"], {
    env: {
      PATH: process.env.PATH,
      PORT: "0",
      WRIT_DATA_DIR: folder,
      WRIT_LOG_LEVEL: "warn",
      WRIT_TRUSTED_PROXIES: "127.0.0.1", // so that the tests are many computers: elsewhere
      ...settings,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise((done, fail) => {
    let printed = "";
    child.stdout.on("data", (piece) => {
      printed += piece;
      const found = /ready at (\S+)/.exec(printed);
      if (found) done(found[1]);
    });
    child.on("exit", (code) => fail(new Error(`writd ended with ${code}: ${printed}`)));
  });
  const first = JSON.parse(readFileSync(join(folder, "first-run.json"), "utf8"));
  const stop = () =>
    new Promise((done) => {
      child.removeAllListeners("exit");
      child.on("exit", () => {
        rmSync(folder, { recursive: true, force: true });
        done();
      });
      child.kill();
    });
  // As somebody would at the server itself.
  const makeOperator = (email) =>
    execFileSync(program, ["operator", "add", email], {
      env: { PATH: process.env.PATH, WRIT_DATA_DIR: folder },
      stdio: "ignore",
    });
  return { url, first, folder, stop, makeOperator, mails: () => mailsIn(join(folder, "outbox")) };
}

/** payments are the settings of a server on which organizations can pay, at a provider that is away. */
export function payments() {
  const plans = join(mkdtempSync(join(tmpdir(), "writ-plans-")), "plans.json");
  writeFileSync(
    plans,
    JSON.stringify([
      { id: "free", name: "Free <b>plan</b>", decisions: 10, spans: 1_000_000, seats: 100 },
      { id: "team", name: "Team", priceId: "price_team", decisions: 1_000_000, spans: 10_000_000 },
    ]),
  );
  return {
    STRIPE_SECRET_KEY: "sk_test_away",
    STRIPE_WEBHOOK_SECRET: "whsec_0123456789abcdef",
    STRIPE_API_URL: "http://127.0.0.1:9",
    WRIT_BILLING_PLANS_FILE: plans,
  };
}

/** mailsIn reads the mails that the server wrote, the oldest first. */
function mailsIn(folder) {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".eml"))
    .sort()
    .map((name) =>
      readFileSync(join(folder, name), "utf8")
        .replace(/=\r?\n/g, "")
        .replace(/=3D/g, "="),
    );
}

let computers = 0;

/**
 * elsewhere is the header of a sign-in from a computer of its own. All tests come from one address, and how often one
 * address may sign in to an account within a minute is limited: how fast the machine is must not decide who gets in.
 */
export function elsewhere() {
  computers += 1;
  return { "X-Forwarded-For": `198.18.${computers >> 8}.${computers & 255}` };
}

/** caller calls the API as a person or with a key: call("POST", "/organization", body). */
export function caller(url, headers) {
  return async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  };
}

// An access token lives a quarter of an hour. On a slow machine the tests take longer.
const renewAfter = 10 * 60_000;

/** signIn gives a caller for a person, who signs in again before the access token ends. */
export async function signIn(url, email, password) {
  const enter = async () => {
    const { accessToken } = await caller(url, elsewhere())("POST", "/auth/login", { email, password });
    return { call: caller(url, { Authorization: `Bearer ${accessToken}` }), since: Date.now() };
  };
  let signed = await enter();
  return async (...request) => {
    if (Date.now() - signed.since > renewAfter) signed = await enter();
    return signed.call(...request);
  };
}
