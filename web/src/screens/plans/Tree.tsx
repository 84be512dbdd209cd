import { useQuery } from "@tanstack/react-query";
import { Check, TriangleAlert } from "lucide-react";
import { useMemo } from "react";
import { useOrg } from "../../app/org";
import { hexOf } from "../../proof/bytes";
import { hashOfLeaf, leafOfStep, rootOf, stepDigest, wayOf } from "../../proof/plan";
import type { Level } from "../../proof/tree";
import { PathTree, type Stage } from "../../ui/proof/PathTree";
import { ErrorPanel, SkeletonLines } from "../../ui/states";
import { words } from "../../words/en";
import { type Plan, treeQuery } from "./queries";

const w = words.plans;

/** TreeSection computes the tree of a plan in this browser, and draws the way of one step to the plan's hash. */
export function TreeSection({ plan, chosen }: { plan: Plan; chosen: number }) {
  const org = useOrg();
  const tree = useQuery(treeQuery(org.id, plan.id));
  return (
    <section className="card stack">
      <h2>{w.tree}</h2>
      <p className="small muted">{w.treeHelp}</p>
      {tree.error ? (
        <ErrorPanel error={tree.error} retry={() => void tree.refetch()} />
      ) : tree.data ? (
        <Drawn plan={plan} chosen={chosen} nodes={tree.data.nodes} />
      ) : (
        <SkeletonLines lines={6} />
      )}
    </section>
  );
}

interface DrawnProps {
  plan: Plan;
  chosen: number;
  nodes: { level: number; path?: string; value_digest?: string }[];
}

function Drawn({ plan, chosen, nodes }: DrawnProps) {
  const leaves = useMemo(
    () =>
      nodes
        .filter((node) => node.level === 0)
        .map((node) => ({ path: node.path ?? "", digest: node.value_digest ?? "" })),
    [nodes],
  );
  const hashes = useMemo(() => leaves.map(hashOfLeaf), [leaves]);
  const fine = hexOf(rootOf(hashes)) === plan.planHash;
  const way = wayOf(hashes, leafOfStep(chosen));
  const step = plan.steps.find((s) => s.step === chosen);
  const same = step && stepDigest(step, plan.ordered) === leaves[leafOfStep(chosen)]?.digest;
  const stages: Stage[] = [...(way?.levels ?? [])].reverse().map(stageOf(leaves.length));
  return (
    <>
      <p className={fine ? "row" : "row wrong-text"} role={fine ? "status" : "alert"}>
        {fine ? <Check size={16} aria-hidden /> : <TriangleAlert size={16} aria-hidden />}
        {fine ? w.treeFine : w.treeWrong}
      </p>
      {step && <p className="small muted">{same ? w.stepFine(chosen) : w.stepRedacted(chosen)}</p>}
      {fine && <PathTree label={w.tree} root={{ label: w.treeRoot, hash: plan.planHash }} stages={stages} />}
    </>
  );
}

const stageOf =
  (size: number) =>
  ({ computed, given, side }: Level): Stage => {
    const box = ({ from, until, hash }: Level["computed"]) => ({ label: nameOf(from, until, size), hash: hexOf(hash) });
    const [left, right] = side === "left" ? [computed, given] : [given, computed];
    return { left: box(left), right: box(right), way: side };
  };

function nameOf(from: number, until: number, size: number): string {
  if (until - from > 1) return w.leaves(from, until - 1);
  if (from === size - 1) return w.leafWhole;
  return from % 2 === 0 ? w.leafAction(from / 2) : w.leafStep((from - 1) / 2);
}
