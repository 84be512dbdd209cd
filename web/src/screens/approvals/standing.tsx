import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { useMay, useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { ConfirmDialog } from "../../ui/Dialog";
import { count } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { approvals as w } from "../../words/approvals";
import { Fact, Tabs, useName } from "./parts";
import { type Allow, allowsQuery } from "./queries";

/** Standing lists the standing approvals that have not ended, with what each permits, and takes them back. */
export function Standing() {
  const org = useOrg();
  usePage({ name: w.title, to: "/approvals" }, { name: w.tabs.standing });
  const allows = useQuery(allowsQuery(org.id));
  // It stays when the approval ends meanwhile: what is being typed would go to the page.
  const [asked, setAsked] = useState<Allow>();
  return (
    <div className="screen">
      <div className="screen-head">
        <h1 className="grow">{w.tabs.standing}</h1>
      </div>
      <Tabs shown="standing" />
      <Loaded query={allows}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={w.noStanding}>{w.noStandingHelp}</Empty>
          ) : (
            <ul className="stack">
              {items.map((allow) => (
                <li key={allow.id} className="card stack tight">
                  <One allow={allow} onTakeBack={() => setAsked(allow)} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {asked && <TakeBack allow={asked} onClose={() => setAsked(undefined)} />}
    </div>
  );
}

function TakeBack({ allow: a, onClose }: { allow: Allow; onClose: () => void }) {
  const org = useOrg();
  const client = useQueryClient();
  const takeBack = useMutation({
    mutationFn: () =>
      api.delete("/delegation/allows/{id}", { params: { path: { id: a.id }, query: { organizationId: org.id } } }),
    onSuccess: () => toast(w.tookBack),
    onSettled: () => client.invalidateQueries({ queryKey: allowsQuery(org.id).queryKey }),
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={w.takeBackTitle}
      act={w.takeBackAct}
      danger
      onConfirm={() => takeBack.mutateAsync()}
    >
      <p>{a.permits}</p>
      <p className="muted">{w.takeBackHelp}</p>
    </ConfirmDialog>
  );
}

function One({ allow: a, onTakeBack }: { allow: Allow; onTakeBack: () => void }) {
  const name = useName();
  const refused = useMay("keys.own");
  return (
    <>
      <p>{a.permits || <span className="muted">{w.permitsHidden}</span>}</p>
      {a.lapsed && <StatusBadge word={w.lapsed} error />}
      <dl className="facts">
        <Fact name={w.columns.uses}>{w.usesLeft(count(a.used), count(a.uses))}</Fact>
        <Fact name={w.columns.ends}>
          <Time at={a.expiresAt} form="absolute" />
        </Fact>
        <Fact name={w.columns.given}>
          <bdi>{name(a.givenBy)}</bdi>, <Time at={a.createdAt} form="absolute" />
        </Fact>
        {a.agentId && (
          <Fact name={w.agent}>
            <AgentText text={a.agentId} short />
          </Fact>
        )}
        <Fact name={w.id}>
          <Link to="/approvals/$id" params={{ id: a.delegationId }}>
            {w.openRequest}
          </Link>
        </Fact>
      </dl>
      <div className="row">
        <Button refused={refused} onClick={onTakeBack}>
          {w.takeBack}
        </Button>
      </div>
    </>
  );
}
