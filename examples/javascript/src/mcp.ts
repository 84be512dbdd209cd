import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

// The address is all that changes: Writ's in place of the server's, with the agent's key.
const transport = new StreamableHTTPClientTransport(new URL(`${process.env.WRIT_URL}/proxy/mcp/bank`), {
  requestInit: { headers: { "x-api-key": process.env.WRIT_API_KEY! } },
});
const client = new Client({ name: "billing", version: "1.0.0" });
await client.connect(transport);

const { tools } = await client.listTools();
console.log(`tools: ${tools.map(({ name }) => name).join(", ")}`);
for (const amount of [900, -1]) {
  const result = await client.callTool({ name: "send_money", arguments: { to: "landlord", amount } });
  const [answer] = result.content as { text: string }[];
  console.log(`${result.isError ? "refused" : "done"}: ${answer?.text.split("\n")[0]}`);
}
await client.close();
