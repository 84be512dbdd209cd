import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client";
import { useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { fresh } from "../../app/queries";
import { AgentText } from "../../ui/AgentText";
import { policies as w } from "../../words/policies";
import type { Bindings } from "./queries";

/** useKeyNames names API keys, for people who may list them. */
function useKeyNames(): Map<string, string> | undefined {
  const org = useOrg();
  return useQuery({
    queryKey: [org.id, "policies", "keys"],
    queryFn: async ({ signal }) => {
      const page = await api.get("/api-keys", { params: { query: { organizationId: org.id, limit: 200 } }, signal });
      return new Map(page.data.map((k) => [k.id, k.name]));
    },
    enabled: org.rights.includes("keys.own"),
    staleTime: fresh.settings,
  }).data;
}

/** BindingList is to whom a policy applies. */
export function BindingList({ bindings: b }: { bindings: Bindings }) {
  const keys = useKeyNames();
  return (
    <dl className="facts">
      {b.roles.length > 0 && (
        <>
          <dt>{w.kinds.roles}</dt>
          <dd>{b.roles.join(", ")}</dd>
        </>
      )}
      {b.members.length > 0 && (
        <>
          <dt>{w.kinds.members}</dt>
          <dd className="row wrap">
            {b.members.map((id) => (
              <Person key={id} id={id} />
            ))}
          </dd>
        </>
      )}
      {b.clients.length > 0 && (
        <>
          <dt>{w.kinds.clients}</dt>
          <dd className="row wrap">
            {b.clients.map((id) => (
              <span key={id} className="badge neutral">
                {keys?.has(id) && <span className="faint">{w.key}</span>}
                <AgentText text={keys?.get(id) ?? id} short />
              </span>
            ))}
          </dd>
        </>
      )}
    </dl>
  );
}
