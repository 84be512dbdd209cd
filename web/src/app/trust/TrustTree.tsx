import { Link } from "@tanstack/react-router";
import { AgentText, ToolName } from "../../ui/AgentText";
import { ProofLink, StatusBadge } from "../../ui/Badge";
import { IdChip } from "../../ui/CopyButton";
import { Time, useNow } from "../../ui/Time";
import { words } from "../../words/en";
import type { Node, Tree } from "./queries";
import "./trust.css";

const w = words.plans;

/** TrustTree draws who got a part of a plan from whom, and the versions of the plan. */
export function TrustTree({ tree }: { tree: Tree }) {
  return (
    <>
      {tree.anchors.length > 1 && <Versions anchors={tree.anchors} />}
      {tree.root && (
        <ul className="delegations" aria-label={w.delegations}>
          <Drawing node={tree.root} shown={tree.planId} />
        </ul>
      )}
      {tree.truncated && <p className="notice">{w.truncated}</p>}
    </>
  );
}

function Versions({ anchors }: { anchors: Tree["anchors"] }) {
  return (
    <ol className="delegation-versions" aria-label={w.versions}>
      {anchors.map((a) => (
        <li key={a.number} className="row wrap">
          {w.version(a.number)} <Time at={a.createdAt} form="absolute" />
          <IdChip id={a.planHash} what={w.hash} />
          {a.auditIndex !== null && <ProofLink index={a.auditIndex} />}
        </li>
      ))}
    </ol>
  );
}

function Drawing({ node, shown }: { node: Node; shown: string }) {
  return (
    <li>
      <div className={`delegation${node.id === shown ? " chosen" : ""}`} aria-current={node.id === shown || undefined}>
        <div className="row wrap">
          <Standing node={node} />
          <Link to="/plans/$id" params={{ id: node.id }}>
            {w.kinds[node.kind] ?? node.kind}
          </Link>
          {node.agentId && (
            <span>
              {w.to} <AgentText text={node.agentId} short />
            </span>
          )}
          <End node={node} />
        </div>
        <Limits node={node} />
      </div>
      {node.children.length > 0 && (
        <ul>
          {node.children.map((child) => (
            <Drawing key={child.id} node={child} shown={shown} />
          ))}
        </ul>
      )}
    </li>
  );
}

/** Standing is whether a plan or delegation authorizes anything now. */
function Standing({ node }: { node: Node }) {
  return <StatusBadge word={standingOf(node)} error={node.revokedAt !== null} />;
}

/** standingOf is the word for it, as writ trust show has it. */
export function standingOf(node: Node): string {
  if (node.revokedAt) return w.revoked;
  if (node.counts || node.status !== "active") return w.statuses[node.status] ?? node.status;
  return node.budget > 0 && node.calls >= node.budget ? w.usedUp : w.counts;
}

/** endOf is what stands beside it of its end: one that has ended before its time ends no more. */
export function endOf(node: Node, now: number): { word: string; at: string } | undefined {
  if (node.revokedAt) return { word: w.revoked, at: node.revokedAt };
  const over = Date.parse(node.expiresAt) <= now;
  if (node.status !== "active" && !over) return undefined;
  return { word: over ? w.ended : w.ends, at: node.expiresAt };
}

function End({ node }: { node: Node }) {
  const end = endOf(node, useNow());
  if (!end) return null;
  return (
    <span className="muted">
      {end.word} <Time at={end.at} form="absolute" />
    </span>
  );
}

function Limits({ node }: { node: Node }) {
  return (
    <>
      {node.budget > 0 && <p className="muted">{w.budget(String(node.calls), String(node.budget))}</p>}
      {node.delegate && <IdChip id={node.delegate} what={w.delegate} />}
      {node.steps.length > 0 && (
        <p className="delegation-tools">
          {node.steps.map((step) => (
            <ToolName key={step.step} server={step.server} tool={step.tool} />
          ))}
        </p>
      )}
    </>
  );
}
