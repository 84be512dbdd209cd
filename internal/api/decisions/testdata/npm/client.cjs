// Drives the published client through health, token and verifyToken, and prints
// what it made of each. The server is $SERVER, the key $KEY.
const { ArmorIQClient } = require('@armoriq/sdk');

async function main() {
  const base = process.env.SERVER;
  const client = new ArmorIQClient({
    apiKey: process.env.KEY, userId: 'u', agentId: 'a', backendEndpoint: base, proxyEndpoint: base, iapEndpoint: base,
  });
  const health = await fetch(base + '/health', { headers: { 'X-API-Key': process.env.KEY } });
  const plan = client.capturePlan('test-llm', 'look', { goal: 'look', steps: [{ action: 'search', mcp: 'web', params: { q: 'x' } }] });
  const token = await client.getIntentToken(plan, { allow: ['*'], deny: [] }, 60);
  const verified = await client.verifyToken(token);
  process.stdout.write('\n' + JSON.stringify({ health: health.status, verified, token }) + '\n');
  process.exit(0);
}

main().catch((error) => { process.stderr.write(String(error && error.stack) + '\n'); process.exit(1); });
