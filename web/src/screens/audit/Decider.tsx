import { useQuery } from "@tanstack/react-query";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { policyNamesQuery } from "./queries";

/** Decider is what decided: a policy by its name, and its rule. */
export function Decider({ policy, rule }: { policy: string | undefined; rule: string | undefined }) {
  const org = useOrg();
  const names = useQuery(policyNamesQuery(org.id)).data;
  if (!policy) return <>–</>;
  return (
    <span>
      <AgentText text={names?.get(policy) ?? policy} short />
      {rule && (
        <span className="muted">
          {" · "}
          <AgentText text={rule} short />
        </span>
      )}
    </span>
  );
}
