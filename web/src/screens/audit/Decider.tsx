import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { deciders, ruleName } from "../../words/deciders";
import { policyNamesQuery } from "./queries";

interface DeciderProps {
  policy: string | undefined;
  rule: string | undefined;
  /** Whether it leads to the policy. Rows of tables are links already. */
  linked?: boolean;
}

/** Decider is what decided: a policy by its name, or a part of Writ in words, and its rule. */
export function Decider({ policy, rule, linked }: DeciderProps) {
  const org = useOrg();
  const names = useQuery(policyNamesQuery(org.id)).data;
  if (!policy) return <>–</>;
  const own = deciders.names[policy];
  const name = own ?? <AgentText text={names?.get(policy) ?? policy} short />;
  return (
    <span>
      {linked && !own ? (
        <Link to="/policies/$id" params={{ id: policy }}>
          {name}
        </Link>
      ) : (
        name
      )}
      {rule && (
        <span className="muted">
          {" · "}
          {ruleName(policy, rule) ?? <AgentText text={rule} short />}
        </span>
      )}
    </span>
  );
}
