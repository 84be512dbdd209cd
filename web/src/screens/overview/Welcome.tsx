import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useOrg } from "../../app/org";
import { StartLink, useMayStart } from "../../app/StartLink";
import { seriesQuery, totalOf } from "../../app/series";
import { verdicts } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { day } from "../../ui/format";
import type { Bounds, RangeSearch } from "../../ui/range";
import { Empty } from "../../ui/states";
import { words } from "../../words/en";
import { newestQuery, summaryQuery } from "./queries";
import { TryDemo } from "./TryDemo";

const w = words.overview;

/** Welcome stands in place of the figures where nothing has happened yet, and says what to do first. */
export function Welcome({ bounds, children }: { bounds: Bounds; children: ReactNode }) {
  const org = useOrg();
  const mayStart = useMayStart();
  const newest = useQuery(newestQuery(org.id)).data;
  const summary = useQuery(summaryQuery(org.id, bounds)).data;
  if (newest?.items.length !== 0 || summary?.totalTraces !== 0) return children;
  return (
    <section className="card">
      <Empty
        title={w.noDecisions}
        action={
          <>
            <StartLink>{w.start}</StartLink>
            <TryDemo />
          </>
        }
      >
        {w.noDecisionsHelp} {mayStart ? w.giveKey : w.onlyReads}
      </Empty>
    </section>
  );
}

/** Quiet says that nothing was decided in the time that is shown, and leads to when something was. */
export function Quiet({ bounds, onRange }: { bounds: Bounds; onRange: (range: RangeSearch) => void }) {
  const org = useOrg();
  const last = useQuery(newestQuery(org.id)).data?.items[0];
  const metric = useQuery(seriesQuery(org.id, { metric: "decisions", bounds })).data;
  if (!last || !metric || verdicts.some((v) => totalOf(metric, v) > 0)) return null;
  const at = Date.parse(last.time);
  if (at >= Date.parse(bounds.from) && (!bounds.until || at < Date.parse(bounds.until))) return null;
  const around = (hours: number) => new Date(at + hours * 3_600_000).toISOString();
  return (
    <p className="notice" role="status">
      {w.quiet(day(at))}
      <Button onClick={() => onRange({ range: undefined, from: around(-12), to: around(12) })}>{w.showIt}</Button>
    </p>
  );
}
