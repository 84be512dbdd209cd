import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { useMay, useOrg } from "../../app/org";
import { remember } from "../../app/remember";
import { Button, Choice, Field } from "../../ui/Button";
import { Check, Form, fieldOf, Problem } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { AgentLimits } from "./agentLimits";
import { AgentRules } from "./agentRules";
import { Loaded, SettingsPage } from "./parts";
import { enforcementQuery, within } from "./queries";

const w = words.settings;

/** Enforcement is how calls are judged beside the policies. */
export function Enforcement() {
  const org = useOrg();
  const settings = useQuery(enforcementQuery(org.id));
  return (
    <SettingsPage tab="enforcement" needs="policies.read">
      <p className="muted">{w.enforcementHelp}</p>
      <Loaded query={settings}>{(now) => <Change key={org.id} now={now} />}</Loaded>
      <AgentRules key={org.id} />
      <AgentLimits key={`limits ${org.id}`} />
    </SettingsPage>
  );
}

function Change({ now }: { now: Body<"SettingsBody"> }) {
  const org = useOrg();
  const client = useQueryClient();
  const refused = useMay("policies.manage");
  const [intentRequired, setIntentRequired] = useState(now.intentRequired);
  const [minutes, setMinutes] = useState(String(now.maxPlanTtlSeconds / 60));
  const [planned, setPlanned] = useState<"hold" | "allow">(now.plannedArguments ?? "hold");
  const save = useMutation({
    mutationFn: () =>
      api.put("/organization/{orgId}/enforcement", {
        params: within(org.id),
        body: {
          ...now, // what this form does not show stays as it is
          intentRequired,
          maxPlanTtlSeconds: Math.round(Number(minutes) * 60),
          plannedArguments: planned,
        },
      }),
    onSuccess: async (next) => {
      await remember(client, enforcementQuery(org.id), next);
      toast(w.saved);
    },
  });
  return (
    <section className="card setting-form">
      <Form onSubmit={() => !refused && save.mutate()}>
        <Check
          label={w.intentRequired}
          hint={w.intentRequiredHint}
          checked={intentRequired}
          onChange={setIntentRequired}
          refused={refused}
        />
        <Field
          label={w.maxPlan}
          type="number"
          min={1 / 60}
          max={43200}
          step="any"
          required
          readOnly={refused !== undefined}
          value={minutes}
          wrong={fieldOf(save.error, "maxPlanTtlSeconds")}
          onChange={(e) => setMinutes(e.target.value)}
        />
        <Choice
          label={w.plannedArguments}
          value={planned}
          onChange={setPlanned}
          options={(["hold", "allow"] as const).map((p) => [p, w.planned[p] ?? p] as const)}
          refused={refused}
        />
        <Problem error={save.error} fields={["maxPlanTtlSeconds"]} />
        <div className="row">
          <Button type="submit" look="primary" busy={save.isPending} refused={refused}>
            {w.save}
          </Button>
        </div>
      </Form>
    </section>
  );
}
