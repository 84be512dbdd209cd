import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { useOrg } from "../../app/org";
import { remember } from "../../app/remember";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { CopyButton } from "../../ui/CopyButton";
import { ConfirmDialog } from "../../ui/Dialog";
import { Problem } from "../../ui/form";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { ProviderForm } from "./identityForm";
import { Loaded, SettingsPage } from "./parts";
import { type Provider, providerQuery, within } from "./queries";

const w = words.settings;

/** IdentityProvider sets up who vouches for the people of the organization. */
export function IdentityProvider() {
  const org = useOrg();
  const allowed = org.rights.includes("identity_provider.manage");
  const provider = useQuery({ ...providerQuery(org.id), enabled: allowed });
  const [begun, setBegun] = useState(false);
  return (
    <SettingsPage tab="identity" needs="identity_provider.manage">
      <Loaded query={provider}>
        {(now) =>
          now || begun ? (
            <div className="setting-split">
              <ProviderForm key={org.id} now={now} />
              {now && <Now provider={now} onRemoved={() => setBegun(false)} />}
            </div>
          ) : (
            <Empty
              title={w.identityNone}
              action={
                <Button look="primary" onClick={() => setBegun(true)}>
                  {w.identitySetUp}
                </Button>
              }
            >
              {w.identityHelp}
            </Empty>
          )
        }
      </Loaded>
    </SettingsPage>
  );
}

function Address({ name, text }: { name: string; text: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="row">
        <code className="grow">{text}</code>
        <CopyButton text={text} what={name} />
      </dd>
    </>
  );
}

/** Now is what is stored: addresses to register, domains and their proof, the last test. */
function Now({ provider: p, onRemoved }: { provider: Provider; onRemoved: () => void }) {
  const org = useOrg();
  const client = useQueryClient();
  const [removing, setRemoving] = useState(false);
  const query = providerQuery(org.id);
  const test = useMutation({
    mutationFn: () => api.post("/organization/{orgId}/identity-provider/test", { params: within(org.id) }),
    onSuccess: async (now) => {
      await remember(client, query, now);
      toast(w.identityTested);
    },
  });
  return (
    <section className="card stack">
      <dl className="facts">
        <Address name={w.callbackUrl} text={p.callbackUrl} />
        <Address name={w.signInUrl} text={p.signInUrl} />
        <dt>{w.testedAt}</dt>
        <dd>{p.testedAt ? <Time at={p.testedAt} form="absolute" /> : w.never}</dd>
      </dl>
      <ul className="setting-lines">
        {p.domains.map((d) => (
          <li key={d.name}>
            <strong className="grow">{d.name}</strong>
            {d.provenAt ? (
              <StatusBadge word={w.proven} />
            ) : (
              <div className="stack tight">
                <span className="small">{w.notProven}</span>
                <span className="row">
                  <code>{d.recordName}</code>
                  <CopyButton text={d.recordName} />
                </span>
                <span className="row">
                  <code>{d.recordValue}</code>
                  <CopyButton text={d.recordValue} />
                </span>
              </div>
            )}
          </li>
        ))}
      </ul>
      <Problem error={test.error} />
      <div className="row">
        <Button busy={test.isPending} onClick={() => test.mutate()}>
          {w.test}
        </Button>
        <Button look="quiet" onClick={() => setRemoving(true)}>
          {w.remove}
        </Button>
      </div>
      <ConfirmDialog
        open={removing}
        onClose={() => setRemoving(false)}
        title={w.identityRemove}
        act={w.remove}
        danger
        onConfirm={async () => {
          await api.delete("/organization/{orgId}/identity-provider", { params: within(org.id) });
          await remember(client, query, null);
          onRemoved();
        }}
      >
        <p>{w.identityRemoveHelp}</p>
      </ConfirmDialog>
    </section>
  );
}
