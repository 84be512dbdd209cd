// Has the published client call tools through the proxy, and prints what it made of each.
// The server is $SERVER, the key $KEY.
const { ArmorIQClient } = require('@armoriq/sdk');

async function main() {
  const base = process.env.SERVER;
  const client = new ArmorIQClient({
    apiKey: process.env.KEY, userId: 'u', agentId: 'a', backendEndpoint: base, proxyEndpoint: base, iapEndpoint: base,
  });
  const steps = ['search', 'drop', 'pay'].map((action) => ({ action, mcp: 'bank', params: {} }));
  const plan = client.capturePlan('test-llm', 'look', { goal: 'look', steps });
  const token = await client.getIntentToken(plan, { allow: ['*'], deny: [] }, 60);
  const allowed = await client.invoke('bank', 'search', token, { q: 'x' });
  const refusal = async (tool) => {
    try {
      await client.invoke('bank', tool, token, { n: 1 });
      return 'ran';
    } catch (error) {
      return error.name + ': ' + error.message;
    }
  };
  const answer = {
    status: allowed.status, result: allowed.result, blocked: await refusal('drop'), held: await refusal('pay'),
  };
  process.stdout.write('\n' + JSON.stringify(answer) + '\n');
  process.exit(0);
}

main().catch((error) => { process.stderr.write(String(error && error.stack) + '\n'); process.exit(1); });
