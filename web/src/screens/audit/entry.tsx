import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { statusOf } from "../../api/errors";
import { parseExact } from "../../api/exact";
import { useMay, useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { AgentText, ToolName } from "../../ui/AgentText";
import { VerdictBadge } from "../../ui/Badge";
import { CopyButton } from "../../ui/CopyButton";
import { clean } from "../../ui/clean";
import { JsonViewer } from "../../ui/json/JsonViewer";
import { Loaded } from "../../ui/Loaded";
import { Empty, SkeletonLines } from "../../ui/states";
import { actionWords } from "../../words/actions";
import { words } from "../../words/en";
import { Erase } from "./Erase";
import { Facts } from "./facts";
import { type Entry as EntryBody, entryQuery } from "./queries";
import { type Told, tell } from "./record";
import "../../ui/proof/proof.css";

const w = words.audit;
const route = getRouteApi("/frame/audit/$index");

// The checker and its hashes load beside the entry.
const ProofSection = lazy(async () => ({ default: (await import("./ProofSection")).ProofSection }));

/** Entry is one entry of the log: what happened, and the proof that it is in the log. */
export function Entry() {
  const { index } = route.useParams();
  const org = useOrg();
  const entry = useQuery(entryQuery(org.id, index));
  const told = useMemo(() => entry.data && tell(entry.data), [entry.data]);
  usePage(told?.decision === undefined ? { name: w.title, to: "/audit" } : { name: w.decisions, to: "/decisions" }, {
    name: told ? `${titleOf(told)} ${w.entry(index)}` : w.entry(index),
  });
  return (
    <div className="screen">
      {!told && <h1>{w.entry(index)}</h1>}
      {[400, 404, 422].includes(statusOf(entry.error)) ? (
        <NotHere />
      ) : (
        <Loaded query={entry} skeleton={<SkeletonLines lines={10} />}>
          {(body) => told && <Shown body={body} told={told} index={index} readAt={entry.dataUpdatedAt} />}
        </Loaded>
      )}
    </div>
  );
}

function NotHere() {
  return (
    <Empty
      title={w.notHere}
      action={
        <Link className="button" to="/audit">
          {w.toLog}
        </Link>
      }
    >
      {w.notHereHelp}
    </Empty>
  );
}

interface ShownProps {
  body: EntryBody;
  told: Told;
  index: string;
  readAt: number;
}

function Shown({ body, told, index, readAt }: ShownProps) {
  return (
    <>
      <Head entry={told} newest={told.index + 1 >= sizeOf(body)} />
      <div className="columns entry-columns">
        <section className="card stack">
          {told.reason && (
            <blockquote className="entry-reason">
              <AgentText text={told.reason} />
            </blockquote>
          )}
          <Facts entry={told} />
        </section>
        <Payload entry={told} key={told.index} />
      </div>
      <Suspense fallback={<SkeletonLines lines={10} />}>
        <ProofSection entry={body} index={index} readAt={readAt} key={index} />
      </Suspense>
      <section className="stack tight">
        <h2>{w.record}</h2>
        <p className="small muted">{w.recordHelp}</p>
        <JsonViewer label={w.record} value={parseExact(body.record)} />
      </section>
    </>
  );
}

const verdictWord = (verdict: string) => (words.verdicts as Record<string, string>)[verdict] ?? verdict;

function titleOf(entry: Told): string {
  if (!entry.decision) return actionWords[entry.action] ?? entry.action;
  return `${verdictWord(entry.decision)} ${clean(entry.tool ?? "", 40)}`;
}

function Head({ entry, newest }: { entry: Told; newest: boolean }) {
  const before = entry.index > 0 ? entry.index - 1 : undefined;
  return (
    <div className="screen-head">
      {entry.decision && <VerdictBadge verdict={entry.decision} />}
      <h1 className="grow entry-title">
        {entry.decision ? (
          <ToolName server={entry.server} tool={entry.tool ?? ""} />
        ) : (
          (actionWords[entry.action] ?? entry.action)
        )}
      </h1>
      <nav className="row" aria-label={w.title}>
        {before !== undefined && (
          <Link className="button quiet" to="/audit/$index" params={{ index: String(before) }} data-previous>
            ← <span className="hidden-text">{w.previous}</span>
          </Link>
        )}
        <span className="mono">{w.entry(entry.index)}</span>
        {!newest && (
          <Link className="button quiet" to="/audit/$index" params={{ index: String(entry.index + 1) }} data-next>
            → <span className="hidden-text">{w.next}</span>
          </Link>
        )}
      </nav>
      <CopyButton text={() => location.href} label={w.copyLink} />
    </div>
  );
}

const sizeOf = (entry: EntryBody) => Number(/\n(\d+)\n/.exec(entry.receipt.checkpoint)?.[1] ?? 0);

function Payload({ entry }: { entry: Told }) {
  const hidden = useMay("payloads.read") !== undefined;
  const label = entry.decision ? w.call : w.payload;
  return (
    <section className="stack tight">
      <div className="row">
        <h2 className="grow">{label}</h2>
        {entry.payload !== undefined && <Erase index={entry.index} />}
      </div>
      {entry.payload !== undefined ? (
        <JsonViewer label={label} value={entry.payload} />
      ) : (
        <p className="muted">{!entry.sealed ? w.noPayload : hidden ? w.payloadNotYours : w.payloadErased}</p>
      )}
    </section>
  );
}
