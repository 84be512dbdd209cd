import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { type Json, writeExact } from "../../api/exact";
import { useOrg } from "../../app/org";
import { useScreenKeys } from "../../app/shell/keys";
import { TellMe } from "../../app/TellMe";
import { AgentText, ToolName } from "../../ui/AgentText";
import { RiskBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Loaded } from "../../ui/Loaded";
import { Empty } from "../../ui/states";
import { useNarrow } from "../../ui/useNarrow";
import { approvals as w } from "../../words/approvals";
import { words } from "../../words/en";
import { Left, useLeaving } from "./parts";
import { type Approval, pendingQuery } from "./queries";
import { beside, inOrder, queueOf, type Queue as Rows } from "./queue";
import { Request } from "./Request";
import { noneFor } from "./rights";

const none: Approval[] = [];

/** Queue is what waits: a list that never moves by itself, and the request that is chosen. */
export function Queue({ id }: { id: string | undefined }) {
  const org = useOrg();
  const narrow = useNarrow();
  useLeaving();
  const pending = useQuery(pendingQuery(org.id));
  const waiting = pending.data?.items ?? none;
  const [taken, setTaken] = useState<Approval[]>();
  const queue = useMemo(() => queueOf(taken ?? none, waiting), [taken, waiting]);
  const takeIn = () => setTaken(inOrder(waiting));
  const [chosen, choose] = useChosen(id, queue, narrow);
  // Where nothing is shown, nothing can move.
  const nothing = !taken || taken.length === 0;
  useEffect(() => {
    if (nothing && waiting.length > 0) setTaken(inOrder(waiting));
  }, [nothing, waiting]);
  const move = (step: 1 | -1) => () => {
    const next = beside(queue, chosen, step);
    if (next) choose(next);
  };
  useScreenKeys({ j: move(1), k: move(-1), ...(queue.news > 0 ? { r: takeIn } : {}) });
  return (
    <Loaded query={pending}>
      {({ cut }) => (
        <div className="approval-split">
          <div className="approval-side stack tight">
            {queue.news > 0 && (
              <Button className="new-pill" onClick={takeIn}>
                {words.ui.newRows(queue.news, w.news)}
              </Button>
            )}
            {cut && <p className="small muted">{w.cut}</p>}
            {queue.rows.length > 0 ? <List queue={queue} chosen={chosen} narrow={narrow} /> : <Nothing />}
          </div>
          {!narrow && chosen && (
            <div className="approval-pane">
              <Request key={chosen} id={chosen} level={2} />
            </div>
          )}
        </div>
      )}
    </Loaded>
  );
}

/**
 * useChosen is the request that is open beside the list: that of the address, else the first that was shown. It only
 * changes when the person chooses, for keys answer it.
 */
function useChosen(id: string | undefined, queue: Rows, narrow: boolean) {
  const navigate = useNavigate();
  const [first, setFirst] = useState<string>();
  const top = queue.rows[0]?.request.delegationId;
  useEffect(() => {
    if (!id && !first && top) setFirst(top);
  }, [id, first, top]);
  const choose = (next: string) => {
    if (!narrow) void navigate({ to: "/approvals", search: (old: object) => ({ ...old, id: next }), replace: true });
    document.getElementById(rowId(next))?.focus();
  };
  return [id ?? first, choose] as const;
}

const rowId = (id: string) => `request-${id}`;

interface ListProps {
  queue: Rows;
  chosen: string | undefined;
  narrow: boolean;
}

function List({ queue, chosen, narrow }: ListProps) {
  return (
    <ul className="approval-list" aria-label={w.queue}>
      {queue.rows.map(({ request: r, gone }) => (
        <li key={r.delegationId}>
          <Link
            id={rowId(r.delegationId)}
            className={`approval-row${gone ? " gone" : ""}`}
            aria-current={!narrow && r.delegationId === chosen ? "true" : undefined}
            activeProps={{}}
            {...(narrow
              ? { to: "/approvals/$id", params: { id: r.delegationId } }
              : { to: "/approvals", search: { id: r.delegationId }, replace: true })}
          >
            <Row request={r} gone={gone} />
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Row({ request: r, gone }: { request: Approval; gone: boolean }) {
  return (
    <>
      <span className="row">
        {r.risk.level && <RiskBadge risk={r.risk.level} />}
        <span className="grow" />
        <span className="small faint">{gone ? w.gone : <Left request={r} />}</span>
      </span>
      <span className="approval-name">
        <ToolName server={r.server} tool={r.tool} line />
      </span>
      {r.arguments && (
        <span className="small">
          <AgentText text={writeExact(r.arguments as Json, 0)} line />
        </span>
      )}
      <span className="small muted one-line">
        {r.agentId && <AgentText text={r.agentId} short />}
        {(r.requesterEmail || r.userId) && (
          <>
            {" "}
            {w.forWhom} <AgentText text={r.requesterEmail || r.userId || ""} short />
          </>
        )}
      </span>
    </>
  );
}

function Nothing() {
  const org = useOrg();
  return (
    <Empty title={w.none} action={<TellMe />}>
      {w[noneFor(org.rights)]}
    </Empty>
  );
}
