import { useQuery } from "@tanstack/react-query";
import type { Ref } from "react";
import type { Json } from "../../api/exact";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { JsonValue, JsonViewer } from "../../ui/json/JsonViewer";
import { approvals as w } from "../../words/approvals";
import { type ArgumentRow, compare } from "./compare";
import { planQuery, type Shown } from "./queries";

/** Arguments are what runs: each value beside what the plan gives, and where it comes from. */
export function Arguments({ request: r, end }: { request: Shown; end: Ref<HTMLElement> }) {
  const org = useOrg();
  const forbidden = !(org.rights as string[]).includes("payloads.read");
  const wanted = r.planSteps.length > 0 && !forbidden;
  const plan = useQuery({ ...planQuery(org.id, r.planId ?? ""), enabled: wanted });
  const { rows, others, step } = compare(r, wanted ? plan.data : undefined, r.planSteps);
  return (
    <section className="stack tight" aria-label={w.arguments}>
      <h3>{w.arguments}</h3>
      {r.argumentsFrom && <p className="muted">{r.argumentsFrom === "plan" ? w.fromPlan : w.fromNowhere}</p>}
      {rows.length > 0 ? (
        <dl className="argument-list">
          {rows.map((row) => (
            <Row key={row.name} row={row} />
          ))}
        </dl>
      ) : (
        <p className="muted">{forbidden ? w.argumentsForbidden : r.arguments ? w.argumentsEmpty : w.noArguments}</p>
      )}
      {others.map((doubt) => (
        <p key={`${doubt.argument} ${doubt.origin}`} className="argument-doubt">
          {w.doubtAbout} <AgentText text={doubt.argument} short />: <Origin doubt={doubt} />
        </p>
      ))}
      {!forbidden && <p className="small faint">{planWords(r, step, plan.isPending && wanted)}</p>}
      {r.editedArguments && (
        <div className="stack tight">
          <h3>{w.edited}</h3>
          <JsonViewer value={r.editedArguments as Json} label={w.edited} />
        </div>
      )}
      {/* Whoever was here has read them; not before the plan stands beside them. */}
      {!(wanted && plan.isPending) && <div ref={end as Ref<HTMLDivElement>} className="argument-end" />}
    </section>
  );
}

function planWords(r: Shown, step: number | undefined, loading: boolean): string {
  if (step !== undefined) return w.comparedWith(step);
  if (r.planErased) return w.planErased;
  if (loading) return "";
  return r.planId ? w.planNotComparable : w.none_planned;
}

function Row({ row }: { row: ArgumentRow }) {
  return (
    <div className={`argument${row.plan === "differs" ? " differs" : ""}`}>
      <dt>
        <AgentText text={row.name} json fold={80} />
      </dt>
      <dd>
        {row.value === undefined ? (
          <span className="faint">{w.missing}</span>
        ) : (
          <JsonValue value={row.value} name={row.name} />
        )}
        {row.plan === "differs" && row.planned !== undefined && (
          <div className="argument-planned">
            <span className="argument-not" aria-hidden>
              ≠
            </span>{" "}
            <span className="small">{w.planned}</span> <JsonValue value={row.planned} name={row.name} />
          </div>
        )}
        {row.plan && <span className={`small argument-mark ${row.plan}`}>{w.plan[row.plan]}</span>}
        {row.doubts.map((doubt) => (
          <p key={`${doubt.origin} ${doubt.of}`} className="argument-doubt">
            <Origin doubt={doubt} />
          </p>
        ))}
      </dd>
    </div>
  );
}

function Origin({ doubt }: { doubt: ArgumentRow["doubts"][number] }) {
  return (
    <>
      {w.origins[doubt.origin] ?? doubt.origin}
      {doubt.of && (
        <>
          {" "}
          {w.originOf} <AgentText text={doubt.of} short />
        </>
      )}
      {doubt.ordered && `, ${w.ordered}`}
    </>
  );
}
