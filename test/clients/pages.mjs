// Runs the pages of the quickstarts. A block of kind sh is run; a text block is all that the block before it prints,
// and … in it means anything; a block with a path is that file; a console block is for a person.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const kinds = ["sh", "text", "console"];

/** blocksOf reads the blocks of a page: kind, path, text and line. */
export function blocksOf(page) {
  const found = readFileSync(page, "utf8").matchAll(/^```([a-z]+)(?: (\S+))?\n([\s\S]*?)^```$/gm);
  return [...found].map(({ 1: kind, 2: path, 3: text, index, input }) => ({
    kind,
    path,
    text,
    line: input.slice(0, index).split("\n").length,
  }));
}

/** runPage runs a page in one shell and gives what is wrong with it. Its processes end with it. */
export async function runPage(root, page, { env, before = "", after = "", limit, replace }) {
  const wrong = [];
  const wants = new Map();
  let script = `set -eu\ncd ${quoted(root)}\n${before}\n`;
  let last = 0;
  for (const { kind, path, text, line } of blocksOf(join(root, page))) {
    if (path !== undefined) {
      if (readFileSync(join(root, path), "utf8") !== text) wrong.push(`line ${line} is not ${path} as it is`);
    } else if (!kinds.includes(kind)) {
      wrong.push(`line ${line}: a block of kind ${kind} is not tested`);
    } else if (kind === "sh") {
      last = line;
      script += `printf '${mark}%s\\n' ${line}\n${replace(text)}\n`;
    } else if (kind === "text") {
      wants.set(last, text);
    }
  }
  if (wants.size === 0) wrong.push("no block says what is printed");
  const { printed, code } = await shell(`${script}\n${after}\n`, env, limit);
  if (code !== 0) return [...wrong, `its commands end with ${code}:\n${printed}`];
  for (const part of printed.split(mark).slice(1)) {
    const [line, ...got] = part.split("\n");
    const want = wants.get(Number(line)) ?? "";
    const pattern = want
      .split("…")
      .map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
      .join(".+");
    if (new RegExp(`^${pattern}$`).test(got.join("\n"))) continue;
    wrong.push(`the commands in line ${line} print\n${got.join("\n")}\nand the page says\n${want}`);
  }
  return wrong;
}

const mark = "=== block in line ";
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function shell(script, env, limit) {
  // A group of its own, so that what a page leaves running ends with it.
  const child = spawn("bash", ["-c", script], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let printed = "";
  child.stdout.on("data", (piece) => (printed += piece));
  child.stderr.on("data", (piece) => (printed += piece));
  const end = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // Nothing of it is left.
    }
  };
  const late = setTimeout(end, limit);
  return new Promise((done) => {
    child.on("exit", (code, signal) => {
      clearTimeout(late);
      end();
      child.on("close", () => done({ printed, code: code ?? signal }));
    });
  });
}
