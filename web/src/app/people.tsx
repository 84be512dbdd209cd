// Names of members, where the API gives ids.
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import { AgentText } from "../ui/AgentText";
import { IdChip } from "../ui/CopyButton";
import { useOrg } from "./org";
import { fresh } from "./queries";

const peopleQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "people"],
    queryFn: async ({ signal }) => {
      const page = await api.get("/organization/{orgId}/members", {
        params: { path: { orgId: org }, query: { limit: 200 } },
        signal,
      });
      return new Map(page.items.map((m) => [m.userId, m.name || m.email]));
    },
    staleTime: fresh.settings,
  });

/** Person is a member by name, or by the id of who left. */
export function Person({ id }: { id: string }) {
  const org = useOrg();
  const name = useQuery(peopleQuery(org.id)).data?.get(id);
  return name ? <AgentText text={name} short /> : <IdChip id={id} />;
}
