import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api } from "../../api/client";
import { useMay, useOrg } from "../../app/org";
import { AgentText, ToolName } from "../../ui/AgentText";
import { ProofLink, StatusBadge } from "../../ui/Badge";
import { Button, Choice } from "../../ui/Button";
import { Problem } from "../../ui/form";
import { count } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { policies as w } from "../../words/policies";
import { Answer } from "./parts";
import { ended, inOrg, type Policy, type Replay, type ReplayChange, replayQuery, replaysQuery } from "./queries";

const route = getRouteApi("/frame/policies/$id");
const choices = ["1", "7", "30", "90"] as const;

/** ReplayTab shows what a version would have done to recorded calls. */
export function ReplayTab({ policy: p }: { policy: Policy }) {
  const { replay } = route.useSearch();
  const navigate = route.useNavigate();
  const org = useOrg();
  const client = useQueryClient();
  const mayDraft = useMay("policies.draft");
  const [days, setDays] = useState<(typeof choices)[number]>("7");
  const all = useQuery(replaysQuery(org.id));
  const own = (all.data ?? []).filter((r) => r.policyId === p.id);
  const show = (id: string) => void navigate({ to: ".", search: (old) => ({ ...old, replay: id }), replace: true });
  const start = useMutation({
    mutationFn: () =>
      api.post("/policy-replays", {
        params: inOrg(org.id),
        body: { policyId: p.id, version: p.policyVersion, days: Number(days) },
      }),
    onSuccess: (made) => show(made.id),
    onSettled: () => client.invalidateQueries({ queryKey: [org.id, "policies", "replays"] }),
  });
  // An address may name the replay of another policy.
  const asked = own.some((r) => r.id === replay) || start.data?.id === replay ? replay : undefined;
  const shown = asked ?? own[0]?.id;
  return (
    <div className="stack">
      <section className="card stack tight">
        <p className="small muted">{w.replayMean}</p>
        <div className="row wrap">
          <span className="policy-days">
            <Choice
              label={w.days}
              hideLabel
              value={days}
              onChange={setDays}
              options={choices.map((n) => [n, w.daysOf(Number(n))] as const)}
            />
          </span>
          <Button look="primary" refused={mayDraft} busy={start.isPending} onClick={() => start.mutate()}>
            {w.startReplay}
          </Button>
        </div>
        <Problem error={start.error} />
      </section>
      {shown ? <One id={shown} /> : all.data && <p className="muted">{w.noReplays}</p>}
      {own.length > 1 && (
        <section className="card stack tight">
          <h2>{w.earlier}</h2>
          <ul className="lines" aria-label={w.earlier}>
            {own.map((r) => (
              <li key={r.id}>
                <Link to="." search={((old: object) => ({ ...old, replay: r.id })) as never}>
                  {w.replayOf(r.policyVersion ?? 0, r.days)}
                </Link>
                <StatusBadge word={w.replayStates[r.state] ?? r.state} error={r.state === "broken"} />
                <Time at={r.startedAt} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function One({ id }: { id: string }) {
  const org = useOrg();
  const client = useQueryClient();
  const replay = useQuery(replayQuery(org.id, id));
  const over = replay.data !== undefined && ended(replay.data);
  // The list says how it ended.
  useEffect(() => {
    if (over) void client.invalidateQueries({ queryKey: [org.id, "policies", "replays"] });
  }, [over, client, org.id]);
  return (
    <Loaded query={replay}>
      {(r) => (
        <section className="card stack" aria-label={w.replayOf(r.policyVersion ?? 0, r.days)}>
          <div className="row wrap">
            <h2>{w.replayOf(r.policyVersion ?? 0, r.days)}</h2>
            <StatusBadge word={w.replayStates[r.state] ?? r.state} error={r.state === "broken"} />
            <Time at={r.startedAt} />
          </div>
          {!ended(r) && <Running replay={r} />}
          {r.problem && <AgentText text={r.problem} />}
          {r.report && <Report replay={r} />}
        </section>
      )}
    </Loaded>
  );
}

function Running({ replay: r }: { replay: Replay }) {
  const org = useOrg();
  const client = useQueryClient();
  const mayDraft = useMay("policies.draft");
  const stop = useMutation({
    mutationFn: () =>
      api.post("/policy-replays/{replayId}/cancel", { params: { path: { replayId: r.id }, ...inOrg(org.id) } }),
    onSettled: () => client.invalidateQueries({ queryKey: [org.id, "policies"] }),
  });
  const said = r.total > 0 ? w.progress(count(r.done), count(r.total)) : w.waiting;
  return (
    <div className="row wrap">
      <span className="grow">
        <progress className="policy-bar" aria-label={said} max={Math.max(r.total, 1)} value={r.done} />
        <span className="small muted">{said}</span>
      </span>
      <Button refused={mayDraft} busy={stop.isPending} onClick={() => stop.mutate()}>
        {w.stopReplay}
      </Button>
      <Problem error={stop.error} />
    </div>
  );
}

function Report({ replay: r }: { replay: Replay }) {
  const report = r.report;
  if (!report) return null;
  const c = report.counts;
  const differ = report.changes.filter((x) => x.today !== x.drafted);
  return (
    <>
      <p role="status">{w.judged(count(c.judged))}</p>
      <ul className="policy-figures">
        {(["stricter", "looser", "unchanged", "unknown"] as const).map((kind) => (
          <li key={kind}>
            <strong>{count(c[kind])}</strong>
            <span className="muted">{w.counts[kind]}</span>
          </li>
        ))}
      </ul>
      <h3>{w.changes}</h3>
      {differ.length === 0 && <p className="muted">{w.noChanges}</p>}
      <ul className="lines" aria-label={w.changes}>
        {differ.map((x, i) => (
          <ChangeLine key={i} change={x} />
        ))}
      </ul>
      {report.leftOut > 0 && <p className="small muted">{w.leftOut(count(report.leftOut))}</p>}
    </>
  );
}

const ChangeLine = ({ change: c }: { change: ReplayChange }) => (
  <li>
    <span className="small muted">
      <AgentText text={c.agent || "–"} short />
    </span>
    <span className="grow">
      <ToolName server={c.server} tool={c.tool} /> {w.times(count(c.count))}
    </span>
    <Answer answer={c.today} />
    <span aria-hidden>→</span>
    <span className="hidden-text">{w.becomes}</span>
    <Answer answer={c.drafted} />
    {c.rule && (
      <span className="small muted">
        <AgentText text={c.rule} short />
      </span>
    )}
    {c.examples.slice(0, 3).map((e) => (
      <ProofLink key={e.index} index={e.index} />
    ))}
  </li>
);
