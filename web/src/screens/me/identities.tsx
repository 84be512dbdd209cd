import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { statusOf } from "../../api/errors";
import { useMe, useOrg } from "../../app/org";
import { optionsQuery } from "../../app/queries";
import { keepNext } from "../../auth/next";
import { AgentText } from "../../ui/AgentText";
import { Button, Choice } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { ConfirmDialog } from "../../ui/Dialog";
import { Problem } from "../../ui/form";
import { ErrorPanel, SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import { type Identity, identitiesQuery } from "./queries";

const w = words.me;

/** Identities are the accounts elsewhere that open this one. */
export function Identities() {
  const { organizations } = useMe();
  const options = useQuery(optionsQuery);
  const client = useQueryClient();
  const list = useQuery(identitiesQuery);
  const [unlinking, setUnlinking] = useState<Identity>();
  const nameOf = (id: string | null) =>
    id ? w.provider(clean(organizations.find((o) => o.id === id)?.name ?? id, 60)) : w.google;
  if (statusOf(list.error) === 403)
    return (
      <section className="card stack tight">
        <h2>{w.identities}</h2>
        <p className="muted">{w.limited}</p>
      </section>
    );
  return (
    <section className="card stack tight">
      <h2>{w.identities}</h2>
      <p className="muted">{w.identitiesHelp}</p>
      {list.data?.items.length === 0 && <p>{w.noIdentities}</p>}
      {!list.data && (list.error ? <ErrorPanel error={list.error} /> : <SkeletonLines lines={2} />)}
      <ul className="lines">
        {list.data?.items.map((i) => (
          <li key={i.id}>
            <div className="grow">
              {nameOf(i.organizationId)} <AgentText text={i.email} />
              <p className="small faint">
                {i.linked ? `${w.linkedByYou} · ` : ""}
                <Time at={i.createdAt} form="absolute" />
              </p>
            </div>
            <Button onClick={() => setUnlinking(i)}>{w.unlink}</Button>
          </li>
        ))}
      </ul>
      <LinkMore google={options.data?.google ?? false} />
      <ConfirmDialog
        open={unlinking !== undefined}
        onClose={() => setUnlinking(undefined)}
        title={w.unlinkTitle}
        act={w.unlink}
        danger
        onConfirm={async () => {
          if (unlinking) await api.delete("/auth/identities/{id}", { params: { path: { id: unlinking.id } } });
          await client.invalidateQueries({ queryKey: identitiesQuery.queryKey });
        }}
      >
        <p>{w.unlinkHelp}</p>
      </ConfirmDialog>
    </section>
  );
}

function LinkMore({ google }: { google: boolean }) {
  const { organizations } = useMe();
  const [org, setOrg] = useState(useOrg().id);
  const link = useMutation({
    mutationFn: (organizationId?: string) =>
      api.post("/auth/identities", { body: organizationId ? { organizationId } : {} }),
    onSuccess: ({ url }) => {
      keepNext("/me");
      location.assign(url);
    },
  });
  return (
    <>
      <div className="row wrap">
        {google && <Button onClick={() => link.mutate(undefined)}>{w.linkGoogle}</Button>}
        <span className="grow">
          <Choice
            label={w.linkProvider}
            hideLabel
            value={org}
            onChange={setOrg}
            options={organizations.map((o) => [o.id, w.provider(clean(o.name, 40))] as const)}
          />
        </span>
        <Button onClick={() => link.mutate(org)}>{w.link}</Button>
      </div>
      <Problem error={link.error} />
    </>
  );
}
