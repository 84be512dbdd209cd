// A server that answers as a case of answers.json says, to see what a client makes of it.
import { createServer } from "node:http";

/** standIn gives the address of a server that answers with one case, or one of each path, and what it was asked. */
export async function standIn(answer) {
  const asked = [];
  const server = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      asked.push(`${request.method} ${request.url}`);
      if (request.url === "/iap/sdk/token") return send(response, 201, { plan_id: "p", jwt_token: "j", token: {} });
      if (request.url === "/iap/audit") return send(response, 201, { audit_id: "a", iap_sync_status: "synced" });
      if (request.url === "/elsewhere") return send(response, 200, allow);
      play(typeof answer === "function" ? answer(request.url) : answer, request, response);
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { url: `http://127.0.0.1:${server.address().port}`, asked, stop };
}

const allow = {
  allowed: true,
  action: "allow",
  enforcementAction: "allow",
  decision: "allow",
  reason: "",
  matchedPolicy: null,
  decisionId: "1",
};

function send(response, status, body) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
}

function play({ status, body, headers, cut }, request, response) {
  if (status === 0) return request.socket.destroy();
  if (status === -1) return undefined;
  const more = cut ? { "Content-Length": Buffer.byteLength(body) + 10 } : {};
  response.writeHead(Math.max(status, 200), { "Content-Type": "application/json", ...headers, ...more });
  if (status === -2) return void response.write(body);
  if (!cut) return response.end(body);
  return void response.write(body, () => request.socket.destroy());
}
