import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client";
import { useMay, useMe, useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { Problem } from "../../ui/form";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import type { Server } from "./queries";

const w = words.connection;

/** leave sends the browser to the authorization server. Another scheme could be a script. */
function leave(to: string) {
  if (/^https?:\/\//.test(to)) location.assign(to);
}

/** Consent is the person's own connection with a server that has an OAuth of its own. */
export function Consent({ server: s }: { server: Server }) {
  const org = useOrg();
  const me = useMe();
  const may = useMay("keys.own");
  const client = useQueryClient();
  const key = [org.id, "connections"];
  const path = { orgId: org.id };
  const list = useQuery({
    queryKey: key,
    queryFn: ({ signal }) =>
      api.get("/organization/{orgId}/connections", { params: { path, query: { limit: 100 } }, signal }),
  });
  const mine = list.data?.items.find((c) => c.serverId === s.mcpId && c.ownerId === me.user.id);
  const connect = useMutation({
    mutationFn: () => api.post("/organization/{orgId}/connections", { params: { path }, body: { server: s.mcpId } }),
    onSuccess: ({ authorizeUrl }) => leave(authorizeUrl),
  });
  const end = useMutation({
    mutationFn: (connectionId: string) =>
      api.delete("/organization/{orgId}/connections/{connectionId}", { params: { path: { ...path, connectionId } } }),
    onSuccess: () => toast(w.disconnected),
    onSettled: () => client.invalidateQueries({ queryKey: key }),
  });
  return (
    <section className="card stack">
      <h2>{w.consent}</h2>
      <p className="muted">{w.wanted}</p>
      {mine && (
        <p>
          {w.since} <Time at={mine.createdAt} /> {w.at} <AgentText text={mine.issuer} />
        </p>
      )}
      <Problem error={connect.error ?? end.error ?? list.error} />
      <div className="row end">
        {mine && (
          <Button busy={end.isPending} onClick={() => end.mutate(mine.id)}>
            {w.disconnect}
          </Button>
        )}
        <Button
          {...(mine ? {} : { look: "primary" as const })}
          busy={connect.isPending}
          refused={may}
          onClick={() => connect.mutate()}
        >
          {mine ? w.again : w.connect}
        </Button>
      </div>
    </section>
  );
}
