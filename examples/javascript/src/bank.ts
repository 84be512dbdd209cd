// An MCP server for the example of the proxy: a bank with one tool, on the port in $PORT.
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

function bank() {
  const server = new McpServer({ name: "bank", version: "1.0.0" });
  server.registerTool(
    "send_money",
    { description: "Send money to somebody.", inputSchema: { to: z.string(), amount: z.number() } },
    async ({ to, amount }) => ({ content: [{ type: "text", text: `sent ${amount} to ${to}` }] }),
  );
  return server;
}

createServer(async (request, response) => {
  if (request.method !== "POST") return void response.writeHead(request.url === "/" ? 200 : 405).end();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on("close", () => transport.close());
  await bank().connect(transport);
  return transport.handleRequest(request, response);
}).listen(Number(process.env.PORT), "127.0.0.1");
