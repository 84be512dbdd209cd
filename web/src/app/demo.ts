// Demo data: an organization of its own, made by the server, closed in one step.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api } from "../api/client";
import { toast } from "../ui/Toast";
import { words } from "../words/en";
import { useMe, useOrg } from "./org";
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

/** useCloseDemo closes the demo that is shown, and goes back to what is real. */
export function useCloseDemo() {
  const org = useOrg();
  const client = useQueryClient();
  const navigate = useNavigate();
  const others = useMe().organizations.filter((o) => o.id !== org.id);
  return useMutation({
    mutationFn: () => api.delete("/organization/{orgId}", { params: { path: { orgId: org.id } } }),
    onSuccess: async () => {
      const next = others[0]?.id;
      await navigate({ to: "/", search: { org: others.length > 1 ? next : undefined }, replace: true });
      await client.invalidateQueries({ queryKey: meQuery.queryKey });
      toast(words.demo.closed);
    },
  });
}
