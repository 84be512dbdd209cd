import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Check, CircleDashed, X } from "lucide-react";
import { useEffect, useRef } from "react";
import { useOrg } from "../../app/org";
import { hexOf } from "../../proof/bytes";
import type { Problem } from "../../proof/check";
import type { Outcome } from "../../proof/prove";
import type { Level } from "../../proof/tree";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { count } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { PathTree, type Stage } from "../../ui/proof/PathTree";
import { SkeletonLines } from "../../ui/states";
import { words } from "../../words/en";
import { Alarm } from "./Alarm";
import { saveAs } from "./download";
import { ago } from "./moments";
import type { Entry } from "./queries";
import { Source } from "./Source";
import { proofQuery } from "./useProof";

const w = words.proof;

/** ProofSection computes the proof of an entry in this browser, and shows each step of it. */
export function ProofSection({ entry, index, readAt }: { entry: Entry; index: string; readAt: number }) {
  const org = useOrg();
  const client = useQueryClient();
  const query = proofQuery(org.id, index, entry, readAt);
  const proof = useQuery(query);
  const section = useRef<HTMLElement>(null);
  const there = proof.data !== undefined;
  useEffect(() => {
    if (there && location.hash === "#proof") section.current?.scrollIntoView({ block: "start" });
  }, [there]);
  const again = () => void client.resetQueries({ queryKey: query.queryKey });
  return (
    <section className="card stack" id="proof" ref={section}>
      <div className="row wrap">
        <h2 className="grow">
          ◈ {w.title}
          {proof.data && (
            <span className={proof.data.problem ? "proof-word wrong" : "proof-word muted"} role="status">
              {" "}
              {proof.data.problem ? w.notProven : w.proven}
            </span>
          )}
        </h2>
        <Button onClick={again} busy={proof.isFetching}>
          {w.again}
        </Button>
        {proof.data && (
          <Button onClick={() => download(index, proof.data)}>{proof.data.problem ? w.evidence : w.download}</Button>
        )}
      </div>
      <Loaded query={proof} skeleton={<SkeletonLines lines={8} />}>
        {(outcome) => <Shown outcome={outcome} onAgain={again} />}
      </Loaded>
      <Source signed={proof.data?.signed} />
    </section>
  );
}

// What somebody else needs to check it, or to see what is wrong.
function download(index: string, { shown, problem, key, seen, signed }: Outcome) {
  const evidence = { index, record: shown.record, receipt: shown.receipt, key, checkpoint: signed, seen, problem };
  saveAs(JSON.stringify(evidence, null, 2), `writ-receipt-${index}.json`);
}

function Shown({ outcome, onAgain }: { outcome: Outcome; onAgain: () => void }) {
  return (
    <>
      {outcome.problem && <Alarm outcome={outcome} onAgain={onAgain} />}
      <div className="proof-columns">
        <div className="stack">
          <Steps outcome={outcome} />
          <p className="small faint">{outcome.trustedAt ? w.trusted(ago(outcome.trustedAt)) : w.trustedNow}</p>
        </div>
        {outcome.proved.levels && outcome.proved.checkpoint && <Tree outcome={outcome} />}
      </div>
    </>
  );
}

// The checks in their order, and which of them a problem is about.
const order = ["leaf", "path", "signature", "payload", "seen"] as const;
const stepOf: Record<Problem, (typeof order)[number]> = {
  leaf: "leaf",
  record: "leaf",
  path: "path",
  signature: "signature",
  key: "signature",
  origin: "signature",
  payload: "payload",
  shrunk: "seen",
  rewritten: "seen",
  epoch: "seen",
};

function Steps({ outcome }: { outcome: Outcome }) {
  const { problem } = outcome;
  const failed = problem && stepOf[problem];
  // A signature is checked before the path to the root that it signs.
  const done = (step: (typeof order)[number]) =>
    !failed || (order.indexOf(step) < order.indexOf(failed) && !(failed === "signature" && step === "path"));
  return (
    <ol className="proof-steps">
      {order.map((step, i) => {
        const state = step === failed ? "failed" : done(step) ? "done" : "skipped";
        const Icon = state === "failed" ? X : state === "done" ? Check : CircleDashed;
        return (
          <li key={step} className={`proof-step ${state}`}>
            <Icon size={16} aria-hidden />
            <span>
              {i + 1}. {step === failed && problem ? w.problems[problem] : sentence(step, outcome)}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

function sentence(step: (typeof order)[number], { proved, seen, kept, key }: Outcome): string {
  const { checkpoint } = proved;
  switch (step) {
    case "leaf":
      return w.steps.leaf(proved.leaf ? short(hexOf(proved.leaf)) : "");
    case "path":
      return w.steps.path(proved.levels?.length ?? 0, count(checkpoint?.size ?? 0));
    case "signature":
      return w.steps.signature(clean(nameOfKey(checkpoint?.key.text ?? key)));
    case "payload":
      return proved.sealed ? w.steps.payload : w.steps.noPayload;
    case "seen":
      if (seen) return w.steps.seen(count(seen.size), ago(seen.at));
      return kept ? w.steps.first : w.steps.notKept;
  }
}

const short = (hex: string) => `${hex.slice(0, 4)}…${hex.slice(-4)}`;
const nameOfKey = (text: string) => text.split("+").slice(0, 2).join("+");

function Tree({ outcome: { proved, seen, shown } }: { outcome: Outcome }) {
  const { levels = [], checkpoint } = proved;
  const size = checkpoint?.size ?? 0;
  const box = ({ from, until, hash }: Level["computed"]) => ({
    label: until - from > 1 ? w.entries(count(from), count(until - 1)) : nameOf(from, shown.receipt.index),
    hash: hexOf(hash),
    seen: seen !== undefined && seen.size >= until,
  });
  const stages: Stage[] = [...levels].reverse().map(({ computed, given, side }) => ({
    left: box(side === "left" ? computed : given),
    right: box(side === "left" ? given : computed),
    way: side,
  }));
  return (
    <PathTree
      label={w.tree}
      root={{ label: w.root(count(size)), hash: hexOf(checkpoint?.root ?? new Uint8Array()) }}
      stages={stages}
    />
  );
}

const nameOf = (index: number, own: number) =>
  index === own ? `${w.one(count(index))}, ${w.thisEntry}` : w.one(count(index));
