import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { ConfirmDialog } from "../../ui/Dialog";
import { Problem } from "../../ui/form";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { type Hook, webhooksQuery } from "./queries";
import { EditWebhook, SecretDialog } from "./webhookDialogs";

const w = words.settings;

/** WebhookHead is what a webhook is and how it does, with what can be done to it. */
export function WebhookHead({ hook }: { hook: Hook }) {
  const org = useOrg();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [doing, setDoing] = useState<"edit" | "secret" | "remove">();
  const [secret, setSecret] = useState<string>();
  const params = { path: { orgId: org.id, id: hook.id } };
  const again = () => client.invalidateQueries({ queryKey: webhooksQuery(org.id).queryKey });
  const test = useMutation({
    mutationFn: () => api.post("/organization/{orgId}/webhooks/{id}/test", { params }),
    onSuccess: (d) => {
      if (d.status === "delivered") toast(w.tested(d.httpStatus));
      else if (d.problem) toast(w.testFailed(clean(d.problem, 200)), { error: true });
      else toast(w.testWaits);
      return again();
    },
  });
  const turn = useMutation({
    mutationFn: (enabled: boolean) => api.patch("/organization/{orgId}/webhooks/{id}", { params, body: { enabled } }),
    onSuccess: again,
  });
  return (
    <section className="card stack tight">
      <div className="row wrap">
        <StatusBadge word={hook.enabled ? w.on : w.off} />
        <span className="grow">
          {w.webhookKinds[hook.kind] ?? hook.kind} · <AgentText text={hook.target} />
        </span>
        <Button busy={test.isPending} onClick={() => test.mutate()}>
          {w.test}
        </Button>
        <Button busy={turn.isPending} onClick={() => turn.mutate(!hook.enabled)}>
          {hook.enabled ? w.turnOff : w.turnOn}
        </Button>
        <Button onClick={() => setDoing("edit")}>{w.edit}</Button>
        <Button onClick={() => setDoing("secret")}>{w.newSecret}</Button>
        <Button onClick={() => setDoing("remove")}>{w.remove}</Button>
      </div>
      <p className="small muted">
        {hook.events.map((kind) => words.inbox.kinds[kind] ?? kind).join(", ")} · {w.delivered}{" "}
        {hook.deliveredAt ? <Time at={hook.deliveredAt} /> : w.never}
        {hook.failingSince && (
          <>
            {" · "}
            {w.failing} <Time at={hook.failingSince} form="absolute" />
          </>
        )}
      </p>
      {hook.disabledReason && (
        <p className="small muted">
          {w.turnedOff} <AgentText text={hook.disabledReason} />
        </p>
      )}
      <Problem error={test.error ?? turn.error} />
      {doing === "edit" && <EditWebhook hook={hook} onClose={() => setDoing(undefined)} />}
      <ConfirmDialog
        open={doing === "secret"}
        onClose={() => setDoing(undefined)}
        title={w.newSecretTitle}
        act={w.newSecret}
        onConfirm={async () => {
          setSecret((await api.post("/organization/{orgId}/webhooks/{id}/secret", { params })).secret);
        }}
      >
        <p>{w.newSecretHelp}</p>
      </ConfirmDialog>
      <ConfirmDialog
        open={doing === "remove"}
        onClose={() => setDoing(undefined)}
        title={w.removeWebhook(clean(hook.name, 60))}
        act={w.remove}
        danger
        onConfirm={async () => {
          await api.delete("/organization/{orgId}/webhooks/{id}", { params });
          await navigate({ to: "/settings/webhooks" });
          await again();
        }}
      >
        <p>{w.removeWebhookHelp}</p>
      </ConfirmDialog>
      {secret && <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </section>
  );
}
