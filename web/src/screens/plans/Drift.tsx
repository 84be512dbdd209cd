import { Link } from "@tanstack/react-router";
import { ToolName } from "../../ui/AgentText";
import { VerdictBadge, verdicts } from "../../ui/Badge";
import { count } from "../../ui/format";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import type { Report } from "./queries";

const w = words.plans;

type Counted = Pick<Report["drift"][number], "allow" | "ask" | "hold" | "deny">;

/** Counts are how often a step or tool got each verdict. */
export function Counts({ of }: { of: Counted }) {
  return (
    <span className="row wrap">
      {verdicts
        .filter((v) => of[v] > 0)
        .map((v) => (
          <span key={v} className="row plan-count">
            <VerdictBadge verdict={v} /> {count(of[v])}
          </span>
        ))}
    </span>
  );
}

/** Drift lists calls under a plan that fit none of its steps. */
export function Drift({ planId, report }: { planId: string; report: Report }) {
  return (
    <section className="card stack tight">
      <h2>{w.drift}</h2>
      <p className="small muted">{report.drift.length > 0 ? w.driftHelp : w.noDrift}</p>
      {report.drift.map((d, i) => (
        <div key={i} className="row wrap plan-drift">
          <span className="grow">
            <ToolName server={d.server} tool={d.tool || "–"} />
          </span>
          <Counts of={d} />
          {d.executed > 0 && <span className="small muted">{w.ran(count(d.executed))}</span>}
          {d.lastAt && (
            <span className="small faint">
              <Time at={d.lastAt} />
            </span>
          )}
          <Link className="small" to="/decisions" search={{ plan: planId, ...(d.tool ? { tool: d.tool } : {}) }}>
            {w.openDecisions}
          </Link>
        </div>
      ))}
    </section>
  );
}
