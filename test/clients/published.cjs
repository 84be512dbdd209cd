// Drives the published client of npm, unchanged and told by the environment alone where the server is, and prints what
// came of each of its methods: a list of [method, what it did].
const { ArmorIQClient } = require('@armoriq/sdk');

const steps = [{ action: 'send_money', mcp: 'bank', params: { to: 'landlord' } }];

async function main() {
  const rows = [];
  const client = new ArmorIQClient({});
  const row = async (method, run) => {
    try {
      rows.push([method, await run()]);
    } catch (error) {
      rows.push([method, `throws ${error.name}: ${error.message}`]);
    }
  };
  const plan = client.capturePlan('test-llm', 'pay', { goal: 'pay the rent', steps });
  let token;
  await row('getIntentToken', async () => {
    token = await client.getIntentToken(plan, { allow: ['*'], deny: [] }, 60);
    return token.planHash && token.stepProofs.length > 0 ? 'token' : 'no token';
  });
  await row('verifyToken', async () => ((await client.verifyToken(token)) ? 'true' : 'false'));
  const pay = (amount) => client.invoke('bank', 'send_money', token, { to: 'landlord', amount });
  await row('invoke, allowed', async () => `${(await pay(900)).status}: ${JSON.stringify((await pay(900)).result)}`);
  await row('invoke, denied', async () => `ran: ${JSON.stringify(await pay(-1))}`);
  await row('invoke, held', async () => `ran: ${JSON.stringify(await pay(5000))}`);
  await row('invoke, not in the plan', async () =>
    `ran: ${JSON.stringify(await client.invoke('bank', 'close_account', token, {}))}`);
  await row('invoke, with another `tool` in the step', async () => {
    const named = { action: 'send_money', tool: 'bank_api', mcp: 'bank', inputs: { to: 'landlord' } };
    const other = client.capturePlan('test-llm', 'pay', { goal: 'pay the rent', steps: [named] });
    const paid = await client.invoke('bank', 'send_money', await client.getIntentToken(other), { to: 'landlord', amount: 900 });
    return `${paid.status}: ${JSON.stringify(paid.result)}`;
  });
  await row('delegate', async () => {
    const delegation = await client.delegate(token, process.env.DELEGATE_KEY, 60, ['send_money']);
    return delegation.delegatedToken.signature ? delegation.status : 'no token';
  });
  process.stdout.write('\n' + JSON.stringify(rows) + '\n');
  process.exit(0);
}

main().catch((error) => { process.stderr.write(String(error && error.stack) + '\n'); process.exit(1); });
