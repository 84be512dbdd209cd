import type { UseQueryResult } from "@tanstack/react-query";
import { Download } from "lucide-react";
import type { Body } from "../../api/client";
import { Button } from "../../ui/Button";
import { bytes, count, money } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { SkeletonLines } from "../../ui/states";
import { periods as w } from "../../words/periods";
import { download } from "../download";
import "./periods.css";

export type Period = "day" | "month";
type Figures = Body<"UsagePeriodBody">;

interface PeriodsProps {
  by: Period;
  onChange: (by: Period) => void;
  query: UseQueryResult<Body<"UsageBody">>;
  /** Of the same figures as a table. */
  file: string;
}

/** Periods is what was used by day or month, the latest first, and the same as a table for spreadsheets. */
export function Periods({ by, onChange, query, file }: PeriodsProps) {
  return (
    <section className="card stack tight">
      <div className="row wrap">
        <h2 className="grow">{w.title}</h2>
        <div className="row" role="group" aria-label={w.by}>
          {(["day", "month"] as const).map((one) => (
            <button key={one} type="button" className="choice" aria-pressed={one === by} onClick={() => onChange(one)}>
              {w.periods[one]}
            </button>
          ))}
        </div>
        <Button onClick={() => void download(file, "usage.csv")}>
          <Download size={14} aria-hidden />
          {w.csv}
        </Button>
      </div>
      <Loaded query={query} skeleton={<SkeletonLines lines={8} />}>
        {({ periods }) => <Table by={by} periods={[...periods].reverse()} />}
      </Loaded>
      <p className="small faint">{w.help}</p>
    </section>
  );
}

const columns: [string, (f: Figures) => string][] = [
  [w.decisions, (f) => count(f.decisions)],
  [w.denied, (f) => count(f.denied)],
  [w.spans, (f) => count(f.spans)],
  [w.tokens, (f) => count(f.inputTokens + f.outputTokens + f.cacheReadTokens + f.cacheWriteTokens)],
  [w.cost, (f) => money(f.costUsd)],
  [w.seats, (f) => count(f.seats)],
  [w.agents, (f) => count(f.activeAgents)],
  [w.stored, (f) => bytes(f.storedBytes)],
];

function Table({ by, periods }: { by: Period; periods: Figures[] }) {
  return (
    <div className="usage-table" tabIndex={0} role="region" aria-label={w.title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{w.periods[by]}</th>
            {columns.map(([name]) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {periods.map((f) => (
            <tr key={f.start} className={f.complete ? undefined : "unfinished"}>
              <th scope="row">
                {by === "month" ? f.start.slice(0, 7) : f.start}
                {!f.complete && <span className="small"> {w.unfinished}</span>}
              </th>
              {columns.map(([name, of]) => (
                <td key={name} className="number">
                  {of(f)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
