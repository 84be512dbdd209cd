import { Agent, run, setOpenAIAPI, setTracingDisabled, tool } from "@openai/agents";
import { Writ } from "@writ/client";
import { z } from "zod";

const sendMoney = async ({ to, amount }: { to: string; amount: number }) => `sent ${amount} to ${to}`;

const writ = new Writ({ url: process.env.WRIT_URL!, apiKey: process.env.WRIT_API_KEY!, agent: "billing" });
const plan = await writ.declare({
  goal: "pay the rent",
  steps: [{ mcp: "bank", action: "send_money", params: { to: "landlord" } }],
});

const pay = tool({
  name: "send_money",
  description: "Send money to somebody.",
  parameters: z.object({ to: z.string(), amount: z.number() }),
  // The model is told why a call did not run, and goes on.
  execute: plan.guard("bank.send_money", sendMoney, { onDenied: (denied) => `not done: ${denied.message}` }),
});

setOpenAIAPI("chat_completions");
setTracingDisabled(true);
const agent = new Agent({
  name: "billing",
  instructions: "Pay what you are told to.",
  model: "gpt-4o-mini",
  tools: [pay],
});
const result = await run(agent, "Pay the rent of 900.");
for (const item of result.newItems) if (item.type === "tool_call_output_item") console.log(`tool: ${item.output}`);
console.log(`model: ${result.finalOutput}`);
