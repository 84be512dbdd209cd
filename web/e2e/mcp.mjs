// A real MCP server over streamable HTTP, whose tools tests change.
import { createServer } from "node:http";

/** startMcp starts one; `set` has it list other tools from then on. */
export async function startMcp(tools, instructions = "Be careful.", guard = () => false) {
  const state = { tools };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    if (guard(request, response, body)) return; // it has answered
    // It keeps no stream and no session.
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(body);
    if (message.id === undefined) return response.writeHead(202).end();
    const answer = answerTo(message, state.tools, instructions);
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...answer }));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    set: (next) => {
      state.tools = next;
    },
    stop: () => server.close(),
  };
}

function answerTo({ method, params }, tools, instructions) {
  if (method === "initialize") {
    return {
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "live", version: "1.2" },
        instructions,
      },
    };
  }
  if (method === "tools/list") return { result: { tools } };
  if (method === "tools/call") return { result: { content: [{ type: "text", text: `${params.name} ran` }] } };
  if (method === "ping") return { result: {} };
  return { error: { code: -32601, message: "no such method" } };
}

/** tool is a tool as servers list it. */
export const tool = (name, description, properties = {}) => ({
  name,
  description,
  inputSchema: { type: "object", properties },
});
