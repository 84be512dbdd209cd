// A scripted model, so that an example needs no account with a vendor: node out/model.js COMMAND... starts it, and runs
// the command with OPENAI_BASE_URL set to it. It speaks OpenAI's chat completions, asks for two payments, one after the
// other, and then says what it was told of them.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const script = [
  { to: "landlord", amount: 900 },
  { to: "mallory", amount: 900 },
];

interface Message {
  role: string;
  content?: unknown;
}

function answer(messages: Message[]) {
  const said = messages.filter(({ role }) => role === "assistant").length;
  const next = script[said];
  if (!next) {
    const told = messages.filter(({ role }) => role === "tool").map(({ content }) => textOf(content));
    return { finish_reason: "stop", message: { role: "assistant", content: `I was told: ${told.join(" | ")}` } };
  }
  const call = { name: "send_money", arguments: JSON.stringify(next) };
  const calls = [{ id: `call_${said}`, type: "function", function: call }];
  return { finish_reason: "tool_calls", message: { role: "assistant", content: null, tool_calls: calls } };
}

function textOf(content: unknown): string {
  if (Array.isArray(content)) return content.map((part: { text?: string }) => part.text ?? "").join("");
  return String(content);
}

const model = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    const { messages } = JSON.parse(body) as { messages: Message[] };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const choices = [{ index: 0, ...answer(messages) }];
    const head = { id: `scripted-${messages.length}`, object: "chat.completion", created: 0, model: "scripted" };
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ ...head, choices, usage }));
  });
});

model.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
  const [command = "", ...args] = process.argv.slice(2);
  const env = { ...process.env, OPENAI_BASE_URL: url, OPENAI_API_KEY: "scripted" };
  spawn(command, args, { stdio: "inherit", env }).on("exit", (code) => process.exit(code ?? 1));
});
