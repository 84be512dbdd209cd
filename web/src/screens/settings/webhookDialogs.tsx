import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { useOrg } from "../../app/org";
import { Button, Choice, Field } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Check, Form, fieldOf, Problem, SecretOnce } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { events } from "./events";
import { type Hook, webhooksQuery, within } from "./queries";

const w = words.settings;

const usual = ["approval.opened", "approval.approved", "approval.rejected", "approval.expired"];

/** SecretDialog shows the secret of a webhook, the only time. */
export function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog open onClose={() => {}} title={w.webhookSecret}>
      <SecretOnce secret={secret} onDone={onClose} />
    </Dialog>
  );
}

interface EventsProps {
  chosen: string[];
  onChoose: (chosen: string[]) => void;
}

/** Events is which events a webhook is told. */
export function Events({ chosen, onChoose }: EventsProps) {
  return (
    <fieldset className="setting-group">
      <legend>{w.webhookEvents}</legend>
      <div className="setting-pair">
        {events.map((kind) => (
          <Check
            key={kind}
            label={words.inbox.kinds[kind] ?? kind}
            checked={chosen.includes(kind)}
            onChange={(on) => onChoose(on ? [...chosen, kind] : chosen.filter((k) => k !== kind))}
          />
        ))}
      </div>
    </fieldset>
  );
}

interface Draft {
  name: string;
  url: string;
  kind: Hook["kind"];
  events: string[];
  sendArguments: boolean;
}

interface FormProps {
  title: string;
  act: string;
  first: Draft;
  /** The webhook that is changed; its format stays, and its address unless another is given. */
  hook?: Hook;
  send: { mutate: (draft: Draft) => void; error: unknown; isPending: boolean };
  onClose: () => void;
}

function WebhookForm({ title, act, first, hook, send, onClose }: FormProps) {
  const [draft, setDraft] = useState(first);
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  return (
    <Dialog open onClose={onClose} title={title}>
      <Form onSubmit={() => send.mutate({ ...draft, url: draft.url.trim() })}>
        <div className="setting-pair">
          <Field
            label={w.name}
            required
            maxLength={100}
            value={draft.name}
            wrong={fieldOf(send.error, "name")}
            onChange={(e) => set({ name: e.target.value })}
          />
          {!hook && (
            <Choice
              label={w.webhookKind}
              value={draft.kind}
              onChange={(kind) => set({ kind })}
              options={(["generic", "slack", "teams"] as const).map((k) => [k, w.webhookKinds[k] ?? k] as const)}
            />
          )}
        </div>
        <Field
          label={w.webhookUrl}
          hint={hook ? w.webhookUrlKeep : w.webhookUrlHint}
          type="url"
          required={!hook}
          maxLength={2048}
          value={draft.url}
          wrong={fieldOf(send.error, "url")}
          onChange={(e) => set({ url: e.target.value })}
        />
        <Events chosen={draft.events} onChoose={(events) => set({ events })} />
        <Check
          label={w.sendArguments}
          hint={w.sendArgumentsHint}
          checked={draft.sendArguments}
          onChange={(sendArguments) => set({ sendArguments })}
        />
        <Problem error={send.error} fields={["name", "url"]} />
        <div className="row end">
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button
            type="submit"
            look="primary"
            busy={send.isPending}
            refused={draft.events.length === 0 ? w.webhookNoEvents : undefined}
          >
            {act}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

const empty: Draft = { name: "", url: "", kind: "generic", events: usual, sendArguments: false };

/** AddWebhook makes a webhook and shows its secret once. */
export function AddWebhook({ onClose }: { onClose: () => void }) {
  const org = useOrg();
  const client = useQueryClient();
  const add = useMutation<Body<"IssuedWebhookBody">, Error, Draft>({
    mutationFn: (body) => api.post("/organization/{orgId}/webhooks", { params: within(org.id), body }),
    onSuccess: () => client.invalidateQueries({ queryKey: webhooksQuery(org.id).queryKey }),
  });
  if (add.data) return <SecretDialog secret={add.data.secret} onClose={onClose} />;
  return <WebhookForm title={w.addWebhook} act={w.addWebhook} first={empty} send={add} onClose={onClose} />;
}

/** EditWebhook changes what a webhook is called, where it leads, and what it is told. */
export function EditWebhook({ hook, onClose }: { hook: Hook; onClose: () => void }) {
  const org = useOrg();
  const client = useQueryClient();
  const edit = useMutation<Hook, Error, Draft>({
    mutationFn: ({ name, url, events, sendArguments }) =>
      api.patch("/organization/{orgId}/webhooks/{id}", {
        params: { path: { orgId: org.id, id: hook.id } },
        body: { name, events, sendArguments, ...(url ? { url } : {}) },
      }),
    onSuccess: async () => {
      toast(w.saved);
      await client.invalidateQueries({ queryKey: webhooksQuery(org.id).queryKey });
      onClose();
    },
  });
  return (
    <WebhookForm title={w.editWebhook} act={w.save} first={{ ...hook, url: "" }} {...{ hook, onClose }} send={edit} />
  );
}
