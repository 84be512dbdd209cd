import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { useCloseOrg } from "../../app/demo";
import { useMay, useOrg } from "../../app/org";
import { meQuery } from "../../app/queries";
import { Button, Field } from "../../ui/Button";
import { IdChip } from "../../ui/CopyButton";
import { ConfirmDialog } from "../../ui/Dialog";
import { Check, Form, fieldOf, Problem } from "../../ui/form";
import { count } from "../../ui/format";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { SettingsPage } from "./parts";

const w = words.settings;

/** OrganizationSettings renames and closes the organization. */
export function OrganizationSettings() {
  const org = useOrg();
  return (
    <SettingsPage tab="organization">
      <div className="setting-split">
        <div className="stack">
          <Rename key={org.id} />
          <RequireFactor />
          <Close />
        </div>
        <dl className="card facts">
          <dt>{w.id}</dt>
          <dd>
            <IdChip id={org.id} />
          </dd>
          <dt>{w.members}</dt>
          <dd>{count(org.memberCount)}</dd>
          <dt>{w.yourRole}</dt>
          <dd>{w.roles[org.role]?.name ?? org.role}</dd>
          <dt>{w.created}</dt>
          <dd>
            <Time at={org.createdAt} form="absolute" />
          </dd>
        </dl>
      </div>
    </SettingsPage>
  );
}

function RequireFactor() {
  const org = useOrg();
  const client = useQueryClient();
  const refused = useMay("organization.update");
  const require = useMutation({
    mutationFn: (required: boolean) =>
      api.put("/organization/{orgId}/second-factor", { params: { path: { orgId: org.id } }, body: { required } }),
    onSuccess: () => {
      toast(w.saved);
      return client.invalidateQueries({ queryKey: meQuery.queryKey });
    },
  });
  return (
    <section className="card stack">
      <Check
        label={w.requireFactor}
        hint={w.requireFactorHelp}
        checked={org.requireSecondFactor}
        refused={refused}
        onChange={(required) => require.mutate(required)}
      />
      <Problem error={require.error} />
    </section>
  );
}

function Rename() {
  const org = useOrg();
  const client = useQueryClient();
  const refused = useMay("organization.update");
  const [name, setName] = useState(org.name);
  const rename = useMutation({
    mutationFn: () => api.patch("/organization/{orgId}", { params: { path: { orgId: org.id } }, body: { name } }),
    onSuccess: () => {
      toast(w.saved);
      return client.invalidateQueries({ queryKey: meQuery.queryKey });
    },
  });
  return (
    <section className="card">
      <Form onSubmit={() => !refused && !org.demo && rename.mutate()}>
        <Field
          label={w.name}
          value={name}
          required
          maxLength={100}
          hint={org.demo ? w.demoName : undefined}
          readOnly={refused !== undefined || org.demo}
          wrong={fieldOf(rename.error, "name")}
          onChange={(e) => setName(e.target.value)}
        />
        <Problem error={rename.error} fields={["name"]} />
        {!org.demo && (
          <div className="row">
            <Button type="submit" busy={rename.isPending} refused={refused}>
              {w.rename}
            </Button>
          </div>
        )}
      </Form>
    </section>
  );
}

function Close() {
  const org = useOrg();
  const close = useCloseOrg(w.closed);
  const refused = useMay("organization.close");
  const [open, setOpen] = useState(false);
  return (
    <section className="card stack tight danger-zone">
      <h2>{w.close}</h2>
      <p className="muted">{w.closeHelp}</p>
      <div className="row">
        <Button look="danger" refused={refused} onClick={() => setOpen(true)}>
          {w.close}
        </Button>
      </div>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        title={w.close}
        act={w.close}
        danger
        type={org.name}
        onConfirm={close}
      >
        <p>{w.closeHelp}</p>
      </ConfirmDialog>
    </section>
  );
}
