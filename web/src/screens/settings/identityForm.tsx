import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { useOrg } from "../../app/org";
import { remember } from "../../app/remember";
import { Button, Choice, Field } from "../../ui/Button";
import { Area, Check, Form, fieldOf, Problem } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { type Provider, providerQuery, within } from "./queries";

const w = words.settings;
const newcomers = ["approver", "member", "viewer"] as const;
const named = ["issuer", "clientId", "clientSecret", "slug", "domains"];

/** ProviderForm changes the identity provider, or sets it up. */
export function ProviderForm({ now }: { now: Provider | null }) {
  const org = useOrg();
  const client = useQueryClient();
  const [form, setForm] = useState({
    issuer: now?.issuer ?? "",
    clientId: now?.clientId ?? "",
    clientSecret: "",
    slug: now?.slug ?? "",
    domains: now?.domains.map((d) => d.name).join("\n") ?? "",
  });
  const [role, setRole] = useState<Provider["defaultRole"]>(now?.defaultRole ?? "member");
  const [enforced, setEnforced] = useState(now?.enforced ?? false);
  const save = useMutation({
    mutationFn: () =>
      api.put("/organization/{orgId}/identity-provider", {
        params: within(org.id),
        body: {
          issuer: form.issuer.trim(),
          clientId: form.clientId.trim(),
          slug: form.slug.trim(),
          domains: form.domains.split(/[\s,]+/).filter(Boolean),
          defaultRole: role,
          enforced,
          ...(form.clientSecret ? { clientSecret: form.clientSecret } : {}),
        },
      }),
    onSuccess: async (next) => {
      await remember(client, providerQuery(org.id), next);
      setForm({ ...form, clientSecret: "" });
      toast(w.saved);
    },
  });
  const of = (name: keyof typeof form) => ({
    value: form[name],
    wrong: fieldOf(save.error, name),
    onChange: (e: { target: { value: string } }) => setForm({ ...form, [name]: e.target.value }),
  });
  return (
    <section className="card">
      <Form onSubmit={() => save.mutate()}>
        <Field label={w.issuer} hint={w.issuerHint} required maxLength={500} {...of("issuer")} />
        <div className="setting-pair">
          <Field label={w.clientId} required maxLength={500} {...of("clientId")} />
          <Field
            label={w.clientSecret}
            type="password"
            autoComplete="off"
            required={now === null}
            maxLength={2000}
            hint={now ? w.clientSecretKeep : w.clientSecretHint}
            {...of("clientSecret")}
          />
        </div>
        <Area label={w.domains} hint={w.domainsHint} rows={3} required {...of("domains")} />
        <div className="setting-pair">
          <Field label={w.slug} hint={w.slugHint} maxLength={40} {...of("slug")} />
          <Choice
            label={w.defaultRole}
            value={role}
            onChange={setRole}
            options={newcomers.map((r) => [r, w.roles[r]?.name ?? r] as const)}
          />
        </div>
        <Check label={w.enforced} checked={enforced} onChange={setEnforced} />
        <Problem error={save.error} fields={named} />
        <div className="row">
          <Button type="submit" look="primary" busy={save.isPending}>
            {w.save}
          </Button>
        </div>
      </Form>
    </section>
  );
}
