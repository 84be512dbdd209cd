// Demo data: an organization of its own, made by the server, closed in one step.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api } from "../api/client";
import { toast } from "../ui/Toast";
import { realOne, useMe, useOrg } from "./org";
import { meQuery, optionsQuery } from "./queries";

/** useDemo is the person's demo, and ways to make and open it; undefined where the server makes none. */
export function useDemo() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const mine = useMe().organizations.find((o) => o.demo);
  const options = useQuery(optionsQuery).data;
  const open = (org: string) => navigate({ to: "/", search: { org } });
  const make = useMutation({
    mutationFn: () => api.post("/demo"),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: meQuery.queryKey });
      await open(made.id);
    },
  });
  if (!mine && !options?.development) return undefined;
  return { mine, make, open };
}

/** useCloseOrg closes the organization that is shown, goes to the overview of one that is left, and says what was done. */
export function useCloseOrg(closed: string) {
  const org = useOrg();
  const client = useQueryClient();
  const navigate = useNavigate();
  const next = realOne(useMe().organizations.filter((o) => o.id !== org.id))?.id;
  return async () => {
    await api.delete("/organization/{orgId}", { params: { path: { orgId: org.id } } });
    // Named, because a link that names none stays in the one that was closed.
    await navigate({ to: "/", search: { org: next }, replace: true });
    await client.invalidateQueries({ queryKey: meQuery.queryKey });
    toast(closed);
  };
}
