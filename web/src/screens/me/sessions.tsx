import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { leave } from "../../auth/session";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { IdChip } from "../../ui/CopyButton";
import { clean } from "../../ui/clean";
import { ConfirmDialog } from "../../ui/Dialog";
import { ErrorBanner, ErrorPanel, SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { programOf } from "./program";
import { type SessionRow, sessionsQuery } from "./queries";

const w = words.me;

/** Sessions are where the person is signed in; each can be ended. */
export function Sessions() {
  const client = useQueryClient();
  const list = useQuery(sessionsQuery);
  const [ending, setEnding] = useState<SessionRow>();
  const end = async () => {
    if (!ending) return;
    if (ending.current) return leave();
    await api.delete("/auth/sessions/{id}", { params: { path: { id: ending.id } } });
    toast(w.ended);
    await client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
  };
  return (
    <section className="card stack tight">
      <h2>{w.sessions}</h2>
      <p className="muted">{w.sessionsHelp}</p>
      {list.error && list.data && <ErrorBanner error={list.error} retry={() => void list.refetch()} />}
      {list.data ? (
        <ul className="lines">
          {list.data.items.map((s) => (
            <Row key={s.id} session={s} onEnd={() => setEnding(s)} />
          ))}
        </ul>
      ) : list.error ? (
        <ErrorPanel error={list.error} retry={() => void list.refetch()} />
      ) : (
        <SkeletonLines lines={4} />
      )}
      <ConfirmDialog
        open={ending !== undefined}
        onClose={() => setEnding(undefined)}
        title={w.endTitle}
        act={w.end}
        danger
        onConfirm={end}
      >
        <p>{ending?.current ? w.endOwn : w.endHelp}</p>
        {ending?.keys && (
          <>
            <p>{w.endKeys}</p>
            <ul className="plain">
              {ending.keys.map((k) => (
                <li key={k.id}>
                  <AgentText text={k.name} line /> <IdChip id={k.id} />
                </li>
              ))}
            </ul>
            <p className="muted">{w.endMade}</p>
          </>
        )}
      </ConfirmDialog>
    </section>
  );
}

function Row({ session: s, onEnd }: { session: SessionRow; onEnd: () => void }) {
  const program = programOf(s.userAgent);
  return (
    <li>
      <div className="grow">
        {program ? (
          <span title={clean(s.userAgent)}>{w.program(program.browser, program.system)}</span>
        ) : (
          <AgentText text={s.userAgent || w.unknownProgram} line />
        )}
        <p className="small faint">
          {w.sessionFrom(s.address)} · {w.sessionUsed} <Time at={s.lastUsedAt} />
        </p>
      </div>
      {s.current && <StatusBadge word={w.thisBrowser} />}
      <Button onClick={onEnd}>{w.end}</Button>
    </li>
  );
}
