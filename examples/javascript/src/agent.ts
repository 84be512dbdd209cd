import { type Denied, Writ } from "@writ/client";

const sendMoney = async ({ to, amount }: { to: string; amount: number }) => `sent ${amount} to ${to}`;

const writ = new Writ({ url: process.env.WRIT_URL!, apiKey: process.env.WRIT_API_KEY!, agent: "billing" });
const plan = await writ.declare(
  { goal: "pay the rent", steps: [{ mcp: "bank", action: "send_money", params: { to: "landlord" } }] },
  { expiresIn: 3600 }, // seconds: the plan outlives the time that a person may take
);
const onHeld = ({ approvalId }: Denied) => console.log(`waits for ${approvalId}`);
const pay = plan.guard("bank.send_money", sendMoney, { wait: 600_000, onHeld });

console.log(await pay({ to: "landlord", amount: 900 }));
console.log(await pay({ to: "mallory", amount: 900 }).catch((denied: Error) => `${denied.name}: ${denied.message}`));
console.log(await pay({ to: "landlord", amount: 5000 }));
