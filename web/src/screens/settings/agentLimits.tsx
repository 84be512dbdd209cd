import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { agentSettingsQuery } from "../../app/kill/queries";
import { useMay, useOrg } from "../../app/org";
import { remember } from "../../app/remember";
import { Button, Field } from "../../ui/Button";
import { Form, fieldOf, Problem } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { counted, type Limits, limitsOf, tripsOf } from "./limits";
import { Loaded } from "./parts";
import { within } from "./queries";

const w = words.settings;
const known = Object.keys(words.findings.kinds);

/** AgentLimits are the numbers at which agents stop without a person, and how long they go on without asking. */
export function AgentLimits() {
  const settings = useQuery(agentSettingsQuery(useOrg().id));
  return (
    <section className="card stack setting-form">
      <div>
        <h2>{w.trips}</h2>
        <p className="muted">{w.tripsHelp}</p>
      </div>
      <Loaded query={settings}>{(now) => <Change now={now} />}</Loaded>
    </section>
  );
}

function Change({ now }: { now: Body<"AgentSettingsBody"> }) {
  const org = useOrg();
  const client = useQueryClient();
  const refused = useMay("agents.manage");
  // A newer server may count kinds that these words do not have: they stay as they are.
  const [kinds] = useState(() => [...new Set([...known, ...Object.keys(now.trips?.findingsPerDay ?? {})])]);
  const [limits, setLimits] = useState<Limits>(() => limitsOf(now, kinds));
  const fields = [
    "leaseSeconds",
    ...counted.map((n) => `trips.${n}`),
    ...kinds.map((k) => `trips.findingsPerDay.${k}`),
  ];
  const save = useMutation({
    mutationFn: () =>
      api.put("/organization/{orgId}/agents/settings", {
        params: within(org.id),
        body: {
          unregisteredMayAct: now.unregisteredMayAct,
          approversMayKill: now.approversMayKill ?? false,
          trips: tripsOf(limits),
          leaseSeconds: Number(limits.lease),
        },
      }),
    onSuccess: async (next) => {
      await remember(client, agentSettingsQuery(org.id), next);
      toast(w.saved);
    },
  });
  const number = (field: string, label: string, value: string, set: (text: string) => void) => (
    <Field
      key={field}
      label={label}
      type="number"
      min={0}
      max={field === "leaseSeconds" ? 300 : 1_000_000}
      step={field === "trips.costPerDay" ? "any" : 1}
      required={field === "leaseSeconds"}
      readOnly={refused !== undefined}
      hint={field === "leaseSeconds" ? w.leaseHint : undefined}
      value={value}
      wrong={fieldOf(save.error, field)}
      onChange={(e) => set(e.target.value)}
    />
  );
  return (
    <Form onSubmit={() => !refused && save.mutate()}>
      <div className="setting-pair">
        {counted.map((name) =>
          number(`trips.${name}`, w.tripFields[name], limits.trips[name], (text) =>
            setLimits({ ...limits, trips: { ...limits.trips, [name]: text } }),
          ),
        )}
      </div>
      <details>
        <summary>{w.tripFindings}</summary>
        <div className="setting-pair">
          {kinds.map((kind) =>
            number(
              `trips.findingsPerDay.${kind}`,
              words.findings.kinds[kind] ?? kind,
              limits.findings[kind] ?? "",
              (text) => setLimits({ ...limits, findings: { ...limits.findings, [kind]: text } }),
            ),
          )}
        </div>
      </details>
      {number("leaseSeconds", w.lease, limits.lease, (lease) => setLimits({ ...limits, lease }))}
      <Problem error={save.error} fields={fields} />
      <div className="row">
        <Button type="submit" look="primary" busy={save.isPending} refused={refused}>
          {w.save}
        </Button>
      </div>
    </Form>
  );
}
