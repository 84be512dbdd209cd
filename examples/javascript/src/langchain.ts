import { ChatOpenAI } from "@langchain/openai";
import { Writ } from "@writ/client";
import { createAgent, tool } from "langchain";
import { z } from "zod";

const sendMoney = async ({ to, amount }: { to: string; amount: number }) => `sent ${amount} to ${to}`;

const writ = new Writ({ url: process.env.WRIT_URL!, apiKey: process.env.WRIT_API_KEY!, agent: "billing" });
const plan = await writ.declare({
  goal: "pay the rent",
  steps: [{ mcp: "bank", action: "send_money", params: { to: "landlord" } }],
});

// The model is told why a call did not run, and goes on.
const guarded = plan.guard("bank.send_money", sendMoney, { onDenied: (denied) => `not done: ${denied.message}` });
const pay = tool(guarded, {
  name: "send_money",
  description: "Send money to somebody.",
  schema: z.object({ to: z.string(), amount: z.number() }),
});

const agent = createAgent({ model: new ChatOpenAI({ model: "gpt-4o-mini" }), tools: [pay] });
const { messages } = await agent.invoke({ messages: [{ role: "user", content: "Pay the rent of 900." }] });
for (const message of messages) if (message.getType() === "tool") console.log(`tool: ${message.text}`);
console.log(`model: ${messages.at(-1)?.text}`);
