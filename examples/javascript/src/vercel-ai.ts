import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Writ } from "@writ/client";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const sendMoney = async ({ to, amount }: { to: string; amount: number }) => `sent ${amount} to ${to}`;

const writ = new Writ({ url: process.env.WRIT_URL!, apiKey: process.env.WRIT_API_KEY!, agent: "billing" });
const plan = await writ.declare({
  goal: "pay the rent",
  steps: [{ mcp: "bank", action: "send_money", params: { to: "landlord" } }],
});

const pay = tool({
  description: "Send money to somebody.",
  inputSchema: z.object({ to: z.string(), amount: z.number() }),
  // The model is told why a call did not run, and goes on.
  execute: plan.guard("bank.send_money", sendMoney, { onDenied: (denied) => `not done: ${denied.message}` }),
});

const provider = createOpenAICompatible({
  name: "openai",
  baseURL: process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1",
  apiKey: process.env.OPENAI_API_KEY,
});
const { steps, text } = await generateText({
  model: provider("gpt-4o-mini"),
  tools: { send_money: pay },
  stopWhen: stepCountIs(5),
  prompt: "Pay the rent of 900.",
});
for (const result of steps.flatMap((step) => step.toolResults)) console.log(`tool: ${result.output}`);
console.log(`model: ${text}`);
