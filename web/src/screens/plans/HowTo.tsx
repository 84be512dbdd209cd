import { CopyButton } from "../../ui/CopyButton";
import "../../ui/proof/proof.css";

/** HowTo is a command that declares a plan. */
export function HowTo() {
  const command = `curl -s ${location.origin}/iap/sdk/token -H "x-api-key: $WRIT_API_KEY" -H "Content-Type: application/json" \\
  -d '{"user_id":"ada","agent_id":"billing","context_id":"default","expires_in":3600,
       "plan":{"goal":"pay the rent","steps":[{"action":"send_money","mcp":"bank","params":{"to":"landlord"}}]}}'`;
  return (
    <div className="command">
      <code>{command}</code>
      <CopyButton text={command} />
    </div>
  );
}
