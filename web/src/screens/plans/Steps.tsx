import { Link } from "@tanstack/react-router";
import { parseExact } from "../../api/exact";
import { AgentText, ToolName } from "../../ui/AgentText";
import { count } from "../../ui/format";
import { JsonValue } from "../../ui/json/JsonViewer";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import { Counts } from "./Drift";
import type { Plan, Report } from "./queries";

const w = words.plans;

type Planned = Plan["steps"][number];
type Done = Report["steps"][number];

/** Steps are the steps of a plan, each beside what was decided about it and reported as run. */
export function Steps({ plan, report, chosen }: { plan: Plan; report: Report; chosen: number }) {
  return (
    <section className="card stack">
      <div className="row wrap">
        <h2 className="grow">{w.plannedBeside}</h2>
        <span className="small muted">
          {w.used(count(report.used), count(report.planned))} · {w.allowed(count(report.allowed))} ·{" "}
          {w.refused(count(report.refused))} · {w.ran(count(report.executed))}
        </span>
      </div>
      <p className="small muted">{plan.ordered ? w.ordered : w.anyOrder}</p>
      <ol className="plan-steps">
        {report.steps.map((done) => (
          <li key={done.step} className={`plan-step${done.step === chosen ? " chosen" : ""}`}>
            <Step
              planId={plan.id}
              planned={plan.steps.find((s) => s.step === done.step)}
              done={done}
              uses={plan.uses.find((u) => u.step === done.step)?.uses}
              chosen={done.step === chosen}
            />
          </li>
        ))}
      </ol>
      {report.truncated && <p className="small muted">{w.truncated}</p>}
    </section>
  );
}

interface StepProps {
  planId: string;
  planned: Planned | undefined;
  done: Done;
  uses: number | undefined;
  chosen: boolean;
}

function Step({ planId, planned, done, uses, chosen }: StepProps) {
  return (
    <>
      <div className="stack tight">
        <div className="row">
          <Link
            className="plan-number"
            to="/plans/$id"
            params={{ id: planId }}
            search={{ step: done.step }}
            replace
            resetScroll={false}
            aria-current={chosen ? "step" : undefined}
          >
            {w.step(done.step)}
          </Link>
          <span className="grow">
            <ToolName server={done.server} tool={done.tool} />
          </span>
        </div>
        {planned?.description && (
          <p className="small muted">
            <AgentText text={planned.description} fold={200} />
          </p>
        )}
        {planned && <Constraints planned={planned} uses={uses} />}
      </div>
      <div className="stack tight">
        <Counts of={done} />
        {done.allow + done.deny + done.hold + done.ask > 0 && (
          <Link className="small" to="/decisions" search={{ plan: planId, tool: done.tool }}>
            {w.openDecisions}
          </Link>
        )}
        {done.allow + done.deny + done.hold + done.ask + done.executed === 0 ? (
          <span className="small faint">{w.notUsed}</span>
        ) : (
          <span className="small muted">
            {w.ran(count(done.executed))}
            {done.failed > 0 && `, ${w.failed(count(done.failed))}`}
            {done.lastAt && (
              <>
                {" · "}
                <Time at={done.lastAt} />
              </>
            )}
          </span>
        )}
      </div>
    </>
  );
}

function Constraints({ planned, uses }: { planned: Planned; uses: number | undefined }) {
  const limits = [
    planned.fixed.length === 0 && !planned.strict ? w.free : planned.strict ? w.strict : w.loose,
    planned.maxCalls > 0 && w.atMost(planned.maxCalls),
    uses !== undefined && w.uses(count(uses)),
  ].filter(Boolean);
  return (
    <>
      {planned.fixed.length > 0 && (
        <dl className="plan-fixed">
          {planned.fixed.map(({ name, value }) => (
            <div key={name}>
              <dt>
                <AgentText text={name} json fold={80} />
              </dt>
              <dd>
                <JsonValue value={parseExact(value)} name={name} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      <p className="small muted">{limits.join(" · ")}</p>
    </>
  );
}
