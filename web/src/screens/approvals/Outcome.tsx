import { Link } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import { ApiError } from "../../api/errors";
import { AgentText } from "../../ui/AgentText";
import { clock } from "../../ui/format";
import { Time } from "../../ui/Time";
import { approvals as w } from "../../words/approvals";
import type { Progress } from "./answer";
import { useName } from "./parts";
import type { Shown } from "./queries";

/** Outcome is what became of a request that no longer waits. */
export function Outcome({ request: r }: { request: Shown }) {
  const name = useName();
  return (
    <section className="notice approval-outcome" aria-label={w.status[r.status]}>
      <div className="stack tight grow">
        <p>
          <Became request={r} />
        </p>
        {r.decidedBy && (
          <p className="small muted">
            {w.answeredBy} <bdi>{name(r.decidedBy)}</bdi>
            {r.selfApproved && `, ${w.self}`}
            {r.decidedAt && (
              <>
                , <Time at={r.decidedAt} form="absolute" />
              </>
            )}
          </p>
        )}
        {r.note && (
          <p>
            {w.note}: <AgentText text={r.note} />
          </p>
        )}
      </div>
    </section>
  );
}

function Became({ request: r }: { request: Shown }) {
  const o = w.outcome;
  if (r.withdrawn) return <>{o.withdrawn}</>;
  if (r.status === "cancelled") return <>{o.cancelled}</>;
  if (r.status === "expired") return <Until text={o.expired} at={r.expiresAt} />;
  if (r.status === "rejected") return <Until text={o.rejected} at={r.expiresAt} />;
  if (r.coveredBy) return <>{o.covered}</>;
  if (r.executedAt) return <Until text={o.executed} at={r.executedAt} />;
  if (r.used) return <>{o.used}</>;
  if (!r.grantExpiresAt)
    return (
      <>
        {o.standing} <Link to="/approvals/standing">{w.tabs.standing}</Link>
      </>
    );
  const waits = Date.parse(r.grantExpiresAt) > Date.now();
  return waits ? <Until text={o.waitsForAgent} at={r.grantExpiresAt} /> : o.notUsed;
}

function Until({ text, at }: { text: string; at: string }) {
  return (
    <>
      {text} <Time at={at} form="clock" />.
    </>
  );
}

/** Sent says where one's own answer is. */
export function Sent({ progress }: { progress: Progress | undefined }) {
  if (!progress) return null;
  if (progress.is === "waiting" || progress.is === "sending")
    return (
      <p className="notice" role="status">
        {progress.is === "waiting" ? w.waiting : w.sending}
      </p>
    );
  return (
    <p className="error-banner" role="alert">
      <TriangleAlert size={16} aria-hidden />
      <span className="grow">{saysOf(progress)}</span>
    </p>
  );
}

function saysOf(progress: Progress): string {
  if (progress.is === "unknown") return w.unknown;
  if (progress.is === "lost") return w.lost(clock(progress.readAt));
  if (progress.is === "late") return w.late;
  if (progress.is !== "refused") return "";
  const { error } = progress;
  if (!(error instanceof ApiError)) return w.refused;
  if (error.status === 429) return w.throttled(error.retryAfter);
  const details = error.details.map((d) => d.message).join(" ");
  return `${w.refused} ${details || error.message}`;
}
