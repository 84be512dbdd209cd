import { Link } from "@tanstack/react-router";
import { AgentText, ToolName } from "../../ui/AgentText";
import { ProofLink, StatusBadge } from "../../ui/Badge";
import { IdChip } from "../../ui/CopyButton";
import { Time } from "../../ui/Time";
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
          <span className="muted">
            {node.revokedAt ? w.revoked : w.ends} <Time at={node.revokedAt ?? node.expiresAt} form="absolute" />
          </span>
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
  if (node.counts) return <StatusBadge word={w.statuses.active ?? node.status} />;
  if (node.revokedAt) return <StatusBadge word={w.revoked} error />;
  return <StatusBadge word={node.status === "active" ? w.counts : (w.statuses[node.status] ?? node.status)} />;
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
