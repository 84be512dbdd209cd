import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { VerdictBadge } from "../../ui/Badge";
import { Problem } from "../../ui/form";
import { Time } from "../../ui/Time";
import { approvals as w } from "../../words/approvals";
import { Status, useName } from "./parts";
import { type Approval, likeQuery, type Shown } from "./queries";

const listed = 5;

/** Like is what was answered before about such calls, and what was decided about the tool. */
export function Like({ request: r }: { request: Shown }) {
  const org = useOrg();
  const name = useName();
  const like = useQuery(likeQuery(org.id, r));
  const counted = (status: string) => like.data?.filter((l) => l.status === status).length ?? 0;
  const [yes, no] = [counted("approved"), counted("rejected")];
  const pending = counted("pending");
  return (
    <section className="stack tight" aria-label={w.history}>
      <h3>{w.history}</h3>
      <Problem error={like.error} />
      {like.data?.length === 0 && <p className="muted">{w.noHistory}</p>}
      {like.data && like.data.length > 0 && (
        <>
          <p className="muted">{w.likeIt(yes, no, like.data.length - yes - no - pending, pending)}</p>
          <ul className="like-list">
            {like.data
              .filter((l) => pending === like.data.length || l.status !== "pending")
              .slice(0, listed)
              .map((l) => (
                <LikeRow key={l.delegationId} request={l} by={l.decidedBy ? name(l.decidedBy) : ""} />
              ))}
          </ul>
        </>
      )}
      <h3>{w.decisions}</h3>
      {r.history.decisions.length === 0 && <p className="muted">{w.noDecisions}</p>}
      <ul className="row wrap">
        {r.history.decisions.map((d) => (
          <li key={d.index} className="row small">
            <VerdictBadge verdict={d.decision} index={d.index} />
            <span className="faint">
              <Time at={d.time} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function LikeRow({ request: l, by }: { request: Approval; by: string }) {
  return (
    <li className="row wrap small">
      <Link to="/approvals/$id" params={{ id: l.delegationId }}>
        <Status request={l} />
      </Link>
      <span className="faint">
        <Time at={l.createdAt} />
      </span>
      {by && <bdi>{by}</bdi>}
      {l.note && (
        <span className="grow muted">
          <AgentText text={l.note} line />
        </span>
      )}
    </li>
  );
}
