import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { useOrg } from "../../app/org";
import { remember } from "../../app/remember";
import { Button, Choice, Field } from "../../ui/Button";
import { Area, Check, Form, fieldOf, Problem } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { headersOf } from "./headers";
import { type ForwardingSettings, forwardingQuery, within } from "./queries";

const w = words.settings;
const contents = ["none", "redacted", "full"] as const;

/** ForwardingForm changes where and what is forwarded, or sets it up. */
export function ForwardingForm({ now }: { now: ForwardingSettings | null }) {
  const org = useOrg();
  const client = useQueryClient();
  const [endpoint, setEndpoint] = useState(now?.endpoint ?? "");
  const [headers, setHeaders] = useState("");
  const [traces, setTraces] = useState(now?.traces ?? true);
  const [decisions, setDecisions] = useState(now?.decisions ?? true);
  const [content, setContent] = useState<ForwardingSettings["content"]>(now?.content ?? "redacted");
  const [hours, setHours] = useState(String(now?.maxAgeHours ?? 24));
  const [enabled, setEnabled] = useState(now?.enabled ?? true);
  const save = useMutation({
    mutationFn: () =>
      api.put("/organization/{orgId}/forwarding", {
        params: within(org.id),
        body: {
          endpoint: endpoint.trim(),
          traces,
          decisions,
          content,
          enabled,
          maxAgeHours: Number(hours),
          ...(headers.trim() ? { headers: headersOf(headers) } : {}),
        },
      }),
    onSuccess: async (next) => {
      await remember(client, forwardingQuery(org.id), next);
      setHeaders("");
      toast(w.saved);
      await client.invalidateQueries({ queryKey: [org.id, "forwarding"] });
    },
  });
  return (
    <section className="card">
      <Form onSubmit={() => save.mutate()}>
        <Field
          label={w.endpoint}
          hint={w.endpointHint}
          type="url"
          required
          maxLength={2048}
          value={endpoint}
          wrong={fieldOf(save.error, "endpoint")}
          onChange={(e) => setEndpoint(e.target.value)}
        />
        <Area
          label={w.headers}
          hint={now?.headers.length ? `${w.headersHint} ${w.headersStored(now.headers.join(", "))}` : w.headersHint}
          rows={2}
          autoComplete="off"
          spellCheck={false}
          value={headers}
          wrong={fieldOf(save.error, "headers")}
          onChange={(e) => setHeaders(e.target.value)}
        />
        <fieldset className="setting-group">
          <legend>{w.sends}</legend>
          <div className="row wrap">
            <Check label={w.traces} checked={traces} onChange={setTraces} />
            <Check label={w.decisions} checked={decisions} onChange={setDecisions} />
          </div>
        </fieldset>
        <div className="setting-pair">
          <Choice
            label={w.content}
            value={content}
            onChange={setContent}
            options={contents.map((c) => [c, w.contents[c] ?? c] as const)}
          />
          <Field
            label={w.maxAge}
            type="number"
            min={1}
            max={168}
            required
            value={hours}
            wrong={fieldOf(save.error, "maxAgeHours")}
            onChange={(e) => setHours(e.target.value)}
          />
        </div>
        <Check label={w.forwardingOn} hint={now?.disabledReason} checked={enabled} onChange={setEnabled} />
        <Problem error={save.error} fields={["endpoint", "headers", "maxAgeHours"]} />
        <div className="row">
          <Button type="submit" look="primary" busy={save.isPending}>
            {w.save}
          </Button>
        </div>
      </Form>
    </section>
  );
}
