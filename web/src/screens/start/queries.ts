import { queryOptions } from "@tanstack/react-query";
import { api } from "../../api/client";

/** starterQuery is the draft that the first organization of a server begins with; null: it has none, or it is used. */
export const starterQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "start", "starter"],
    queryFn: async ({ signal }) => {
      const query = { organizationId: org, status: "draft", limit: 200 } as const;
      const drafts = await api.get("/policies", { params: { query }, signal });
      return drafts.items.find((p) => p.name === "starter") ?? null;
    },
  });
