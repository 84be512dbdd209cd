import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { statusOf } from "../../api/errors";
import type { Json } from "../../api/exact";
import { ActDialog } from "../../app/act/ActDialog";
import { KeyChip } from "../../app/KeyChip";
import { linkTo } from "../../app/link";
import { useMay, useMe, useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { JsonValue } from "../../ui/json/JsonViewer";
import { Loaded } from "../../ui/Loaded";
import { Empty, SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { proposals as w } from "../../words/drafts";
import { policies } from "../../words/policies";
import { Sentences } from "./parts";
import { inOrg, type Proposal, proposalQuery, readProposal, useAgain } from "./queries";
import "./policies.css";

const route = getRouteApi("/frame/policies/proposals/$id");

/** ProposalDetail is a profile that a plugin proposes, in sentences. A person confirms it by its hash. */
export function ProposalDetail() {
  const { id } = route.useParams();
  const org = useOrg();
  const proposal = useQuery(proposalQuery(org.id, id));
  usePage(
    { name: policies.title, to: "/policies" },
    { name: policies.proposals, to: "/policies/proposals" },
    { name: proposal.data?.name ?? "…" },
  );
  return (
    <div className="screen">
      {!proposal.data && <h1>{w.proposal}</h1>}
      {statusOf(proposal.error) === 404 ? (
        <Empty
          title={w.noProposal}
          action={
            <Link className="button" to="/policies/proposals">
              {w.toProposals}
            </Link>
          }
        >
          {w.noProposalHelp}
        </Empty>
      ) : (
        <Loaded query={proposal} skeleton={<SkeletonLines lines={10} />}>
          {(found) => <Shown proposal={found} />}
        </Loaded>
      )}
    </div>
  );
}

function Shown({ proposal: p }: { proposal: Proposal }) {
  const mayManage = useMay("policies.manage");
  const mayDraft = useMay("policies.draft");
  const me = useMe();
  // What was read is what is confirmed: it does not change below an open dialog.
  const [doing, setDoing] = useState<{ act: "confirm" | "turnAway"; seen: Proposal }>();
  const close = () => setDoing(undefined);
  const mayTurn = p.ownerId === me.user.id ? mayDraft : mayManage;
  return (
    <>
      <div className="screen-head">
        <h1>
          <AgentText text={p.name} short />
        </h1>
        <StatusBadge word={w.proposalStates[p.state] ?? p.state} />
        {p.active && <StatusBadge word={w.inForce} />}
        <span className="grow" />
        {p.state === "open" && (
          <>
            <Button refused={mayTurn} onClick={() => setDoing({ act: "turnAway", seen: p })}>
              {w.turnAway}
            </Button>
            <Button look="primary" refused={mayManage} onClick={() => setDoing({ act: "confirm", seen: p })}>
              {w.confirm}
            </Button>
          </>
        )}
      </div>
      {p.state === "superseded" && <p className="notice">{w.replaced}</p>}
      <Facts proposal={p} />
      <section className="card stack tight">
        <h2>{w.says}</h2>
        <p className="small muted">{w.saysMean}</p>
        <Sentences all={p.explanation} label={w.says} />
        <details>
          <summary>{w.wholeProfile}</summary>
          <JsonValue value={p.policy as unknown as Json} name={w.wholeProfile} />
        </details>
        <p>
          <Link {...linkTo("/policies/$id", { tab: "replay" })} params={{ id: p.policyId } as never}>
            {w.asPolicy}
          </Link>
        </p>
      </section>
      {doing?.act === "confirm" && <Confirm proposal={doing.seen} onClose={close} />}
      {doing?.act === "turnAway" && <TurnAway proposal={doing.seen} onClose={close} />}
    </>
  );
}

function Facts({ proposal: p }: { proposal: Proposal }) {
  return (
    <section className="card">
      <dl className="facts">
        <dt>{w.proposedBy}</dt>
        <dd>
          <Person id={p.ownerId} />{" "}
          {p.proposedBy.kind === "key" && (
            <>
              {w.viaKey} <KeyChip id={p.proposedBy.id} />
            </>
          )}{" "}
          <Time at={p.proposedAt} form="absolute" />
        </dd>
        {p.reason && (
          <>
            <dt>{w.reason}</dt>
            <dd>
              <AgentText text={p.reason} />
            </dd>
          </>
        )}
        <dt>{w.hash}</dt>
        <dd>
          <code>{p.hash}</code>
        </dd>
        {p.decidedBy && (
          <>
            <dt>{w.proposalStates[p.state]}</dt>
            <dd>
              <Person id={p.decidedBy} /> {p.decidedAt && <Time at={p.decidedAt} form="absolute" />}
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

interface DialogProps {
  proposal: Proposal;
  onClose: () => void;
}

function Confirm({ proposal: p, onClose }: DialogProps) {
  const org = useOrg();
  const again = useAgain();
  return (
    <ActDialog<Proposal>
      title={w.confirmTitle(clean(p.name))}
      act={w.confirmAct}
      wide
      type={w.confirmWord}
      onClose={onClose}
      onSettled={again}
      send={() =>
        api.post("/policies/profiles/confirm", { params: inOrg(org.id), body: { proposalId: p.id, hash: p.hash } })
      }
      look={async () => {
        const now = await readProposal(org.id, p.id);
        return now.state === "confirmed" && now.hash === p.hash ? now : undefined;
      }}
      done={() => (
        <p>
          {w.confirmed} <Link {...linkTo("/audit", { action: "profile.confirmed" })}>{policies.inLog}</Link>
        </p>
      )}
    >
      <p className="muted">{w.confirmMeans}</p>
      <Sentences all={p.explanation} label={w.says} />
      <p className="small muted">
        {w.hash} <code>{p.hash}</code>
      </p>
    </ActDialog>
  );
}

function TurnAway({ proposal: p, onClose }: DialogProps) {
  const org = useOrg();
  const again = useAgain();
  return (
    <ActDialog<object>
      title={w.turnAwayTitle(clean(p.name))}
      act={w.turnAwayAct}
      danger
      onClose={onClose}
      onSettled={again}
      send={async () => {
        await api.delete("/policies/profiles/proposals/{id}", { params: { path: { id: p.id }, ...inOrg(org.id) } });
        return {};
      }}
      look={async () => ((await readProposal(org.id, p.id)).state === "withdrawn" ? {} : undefined)}
      done={() => <p>{w.turnedAway}</p>}
    >
      <p className="muted">{w.turnAwayMeans}</p>
    </ActDialog>
  );
}
