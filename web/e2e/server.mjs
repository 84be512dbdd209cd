// A real server with a data folder of its own, for as long as the tests run.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../bin/writd", import.meta.url));

/** startServer starts writd on a free port and gives its address and first secrets. */
export async function startServer(settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), "writ-e2e-"));
  const child = spawn(program, ["serve"], {
    env: { PATH: process.env.PATH, PORT: "0", WRIT_DATA_DIR: folder, WRIT_LOG_LEVEL: "warn", ...settings },
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
  return { url, first, folder, stop, mails: () => mailsIn(join(folder, "outbox")) };
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

/** signIn gives a caller for a person. */
export async function signIn(url, email, password) {
  const { accessToken } = await caller(url, {})("POST", "/auth/login", { email, password });
  return caller(url, { Authorization: `Bearer ${accessToken}` });
}
