import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Body } from "../../api/client";
import { useOrg } from "../../app/org";
import { useNew } from "../../live/useLive";
import { AgentText } from "../../ui/AgentText";
import { ProofLink, VerdictBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Loaded } from "../../ui/Loaded";
import { SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import { newestQuery } from "./queries";

const w = words.overview;
const shown = 8;

/** Newest lists the latest decisions; what comes later waits behind a pill. */
export function Newest() {
  const org = useOrg();
  const client = useQueryClient();
  const newest = useQuery(newestQuery(org.id));
  const { waiting, show } = useNew(
    (e) => e.kind === "decision",
    () => void client.invalidateQueries({ queryKey: newestQuery(org.id).queryKey }),
  );
  return (
    <section className="card stack tight">
      <div className="row">
        <h2 className="grow">{w.recent}</h2>
        {waiting > 0 && (
          <Button className="new-pill" onClick={show}>
            {words.ui.newRows(waiting, "")} ↑
          </Button>
        )}
      </div>
      <Loaded query={newest} skeleton={<SkeletonLines lines={shown} />}>
        {({ items }) =>
          items.length === 0 ? <p className="muted">{w.noDecisions}</p> : <Rows entries={items.slice(0, shown)} />
        }
      </Loaded>
    </section>
  );
}

type Entry = Body<"EntryBody">;

function Rows({ entries }: { entries: Entry[] }) {
  return (
    <ul className="newest">
      {entries.map((entry) => (
        <li key={entry.index} className="newest-row">
          <span className="small faint">
            <Time at={entry.time} />
          </span>
          <VerdictBadge verdict={entry.decision ?? ""} index={entry.index} />
          <span className="newest-call">
            <AgentText text={entry.tool ?? ""} line />
            <span className="small muted">
              <AgentText text={entry.agent ?? ""} line />
            </span>
          </span>
          <ProofLink index={entry.index} />
        </li>
      ))}
    </ul>
  );
}
