import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { agentSettingsQuery } from "../../app/kill/queries";
import { useMay, useOrg } from "../../app/org";
import { remember } from "../../app/remember";
import { Check, Problem } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { Loaded } from "./parts";
import { within } from "./queries";

const w = words.settings;

/** AgentRules is what the organization says about agents: who may act, and who may stop them. */
export function AgentRules() {
  const settings = useQuery(agentSettingsQuery(useOrg().id));
  return (
    <section className="card stack setting-form">
      <h2>{w.agents}</h2>
      <Loaded query={settings}>{(now) => <Rules now={now} />}</Loaded>
    </section>
  );
}

function Rules({ now }: { now: Body<"AgentSettingsBody"> }) {
  const org = useOrg();
  const client = useQueryClient();
  const refused = useMay("agents.manage");
  const change = useMutation({
    // Trips and leases stay as they are where they are left out.
    mutationFn: (changed: { unregisteredMayAct?: boolean; approversMayKill?: boolean }) =>
      api.put("/organization/{orgId}/agents/settings", {
        params: within(org.id),
        body: {
          unregisteredMayAct: now.unregisteredMayAct,
          approversMayKill: now.approversMayKill ?? false,
          ...changed,
        },
      }),
    onSuccess: async (next) => {
      await remember(client, agentSettingsQuery(org.id), next);
      toast(w.saved);
    },
  });
  // One at a time: each sends the other as it is.
  const set = (changed: Parameters<typeof change.mutate>[0]) => !change.isPending && change.mutate(changed);
  return (
    <>
      <Check
        label={w.unregisteredMayAct}
        hint={w.unregisteredMayActHint}
        checked={now.unregisteredMayAct}
        refused={refused}
        onChange={(unregisteredMayAct) => set({ unregisteredMayAct })}
      />
      <Check
        label={w.approversMayKill}
        hint={w.approversMayKillHint}
        checked={now.approversMayKill ?? false}
        refused={refused}
        onChange={(approversMayKill) => set({ approversMayKill })}
      />
      <Problem error={change.error} />
    </>
  );
}
