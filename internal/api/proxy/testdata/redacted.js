// Lists the tools of an MCP server with the official SDK, calls one for each line that it reads, and prints what came:
//
//	node redacted.js MODULES URL KEY
//
// MODULES is a folder where the SDK is installed. A line is "list", or "call NAME ARGUMENTS".
const { createRequire } = require("node:module");
const { createInterface } = require("node:readline");

const [modules, url, key] = process.argv.slice(2);
const load = createRequire(modules + "/");
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");

async function answer(client, line) {
  if (line === "list") {
    const { tools } = await client.listTools();
    return tools.filter((tool) => tool.outputSchema).map((tool) => tool.name);
  }
  const [, name, args] = line.match(/^call (\S+) (.*)$/);
  return client.callTool({ name, arguments: JSON.parse(args) });
}

async function main() {
  const client = new Client({ name: "agent", version: "1" });
  const requestInit = { headers: { "x-api-key": key } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  for await (const line of createInterface({ input: process.stdin })) {
    const said = await answer(client, line).catch((err) => ({ thrown: String(err) }));
    console.log(JSON.stringify(said));
  }
  await client.close();
}

main();
