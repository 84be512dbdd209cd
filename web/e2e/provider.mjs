// An identity provider on this machine, as OpenID Connect has it: one person, who always agrees.
import { createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const client = { id: "writ-e2e", secret: "a-secret-of-the-provider" };

/** startProvider gives its issuer, its client, and what ends it. */
export async function startProvider(person) {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = { ...publicKey.export({ format: "jwk" }), kid: "1", use: "sig", alg: "RS256" };
  const codes = new Map(); // and the nonce that each was asked with
  let issuer;
  const answers = {
    "/.well-known/openid-configuration": () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    }),
    "/keys": () => ({ keys: [key] }),
    "/token": (body) => {
      const code = new URLSearchParams(body).get("code");
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: issuer, aud: client.id, iat: now, exp: now + 300, nonce: codes.get(code), ...person };
      return { access_token: randomUUID(), token_type: "Bearer", id_token: signed(claims, privateKey) };
    },
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, issuer);
    if (url.pathname === "/authorize") {
      const code = randomUUID();
      codes.set(code, url.searchParams.get("nonce"));
      const back = new URL(url.searchParams.get("redirect_uri"));
      back.searchParams.set("code", code);
      back.searchParams.set("state", url.searchParams.get("state"));
      return response.writeHead(302, { Location: back.href }).end();
    }
    let body = "";
    for await (const piece of request) body += piece;
    const answer = answers[url.pathname]?.(body);
    response.writeHead(answer ? 200 : 404, { "Content-Type": "application/json" }).end(JSON.stringify(answer ?? {}));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  issuer = `http://127.0.0.1:${server.address().port}`;
  return { issuer, client, stop: () => server.close() };
}

function signed(claims, privateKey) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "RS256", kid: "1", typ: "JWT" })}.${part(claims)}`;
  return `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey).toString("base64url")}`;
}
