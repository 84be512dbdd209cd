import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api } from "../../api/client";
import { ActDialog } from "../../app/act/ActDialog";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { clean } from "../../ui/clean";
import { count } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { typable } from "../../ui/typable";
import { words } from "../../words/en";
import { policies as w } from "../../words/policies";
import { BindingList } from "./BindingList";
import { Sentences } from "./parts";
import {
  at,
  bindingsQuery,
  diffQuery,
  type Policy,
  type Replay,
  readPolicy,
  replayQuery,
  replaysQuery,
  useAgain,
} from "./queries";
import { RuleChanges } from "./RuleChanges";
import { agentsOf, countsFor, isSafe } from "./says";

const namedAgents = 5;

/** Activate puts exactly the version that was on screen in force, after saying what changes for whom. */
export function Activate({ policy: p, onClose }: { policy: Policy; onClose: () => void }) {
  const org = useOrg();
  const again = useAgain();
  const replays = useQuery(replaysQuery(org.id));
  const found = replays.data?.find((r) => countsFor(r, p));
  const replay = useQuery({ ...replayQuery(org.id, found?.id ?? ""), enabled: found !== undefined });
  const safe = replay.data !== undefined && isSafe(replay.data);
  // Whether it was replayed is said once it is known.
  const looking = found === undefined ? replays.isPending : replay.isPending;
  const v = p.policyVersion;
  return (
    <ActDialog<Policy>
      title={w.activateTitle(v, clean(p.name))}
      doneTitle={w.activatedTitle(v, clean(p.name))}
      act={w.activateAct(v)}
      wide
      type={safe || looking ? undefined : typable(p.name) ? p.name : w.word}
      missing={looking ? words.ui.loading : undefined}
      onClose={onClose}
      onSettled={again}
      send={() =>
        api.post("/policies/{policyId}/activate", {
          params: at(p.id),
          body: { version: v, ifActive: p.activeVersion ?? 0 },
        })
      }
      look={async () => {
        const now = await readPolicy(p.id);
        return now.activeVersion === v ? now : undefined;
      }}
      done={() => (
        <p>
          {w.activated(v)} <Link {...linkTo("/audit", { action: "policy.activated" })}>{w.inLog}</Link>
        </p>
      )}
    >
      <Part title={w.whatChanges}>{p.activeVersion === null ? <AllNew policy={p} /> : <Changes policy={p} />}</Part>
      <Part title={w.forWhom}>
        <ForWhom policy={p} />
      </Part>
      <Part title={w.lastCalls}>
        {looking ? (
          <SkeletonLines lines={2} />
        ) : replay.data ? (
          <OnCalls replay={replay.data} safe={safe} />
        ) : (
          <p>{w.notReplayed}</p>
        )}
      </Part>
    </ActDialog>
  );
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="stack tight" aria-label={title}>
    <h3>{title}</h3>
    {children}
  </section>
);

const AllNew = ({ policy: p }: { policy: Policy }) => (
  <>
    <p>{w.firstTime}</p>
    <Sentences all={p.explanation} label={w.whatChanges} />
  </>
);

function Changes({ policy: p }: { policy: Policy }) {
  const org = useOrg();
  const changes = useQuery(diffQuery(org.id, p.id, p.activeVersion ?? 0, p.policyVersion));
  return (
    <>
      <p>{w.fromNext}</p>
      <Loaded query={changes}>{(list) => <RuleChanges changes={list} />}</Loaded>
    </>
  );
}

function ForWhom({ policy: p }: { policy: Policy }) {
  const org = useOrg();
  const bindings = useQuery(bindingsQuery(org.id, p.id));
  return (
    <Loaded query={bindings}>
      {(b) => {
        const n = b.members.length + b.clients.length + b.roles.length;
        return n === 0 ? (
          <p>{w.forEverybody}</p>
        ) : (
          <>
            <p>{w.forSome(n)}</p>
            <BindingList bindings={b} />
          </>
        );
      }}
    </Loaded>
  );
}

function OnCalls({ replay: r, safe }: { replay: Replay; safe: boolean }) {
  const c = r.report?.counts;
  const agents = agentsOf(r);
  if (!c) return null;
  return (
    <>
      <p>{w.replayed(count(c.stricter), count(c.looser), count(c.unknown), count(c.judged), w.daysOf(r.days))}</p>
      {agents.length > 0 && (
        <p className="row wrap">
          {w.hitsAgents}
          {agents.slice(0, namedAgents).map(([agent, n]) => (
            <span key={agent} className="badge neutral">
              <AgentText text={agent || "–"} short /> {w.times(count(n))}
            </span>
          ))}
        </p>
      )}
      <p className="small muted">
        {w.asOf} <Time at={r.startedAt} form="absolute" />
      </p>
      {!safe && <p>{w.looserWarns}</p>}
    </>
  );
}
