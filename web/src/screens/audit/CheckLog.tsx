import { useQuery } from "@tanstack/react-query";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { count } from "../../ui/format";
import { ErrorPanel, SkeletonLines } from "../../ui/states";
import { words } from "../../words/en";
import { type Checked, parseCheck } from "./check";
import { read } from "./download";

const w = words.audit;

/** CheckLog has the server compare the log with what is stored beside it. */
export function CheckLog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const org = useOrg();
  const check = useQuery({
    queryKey: [org.id, "audit", "check"],
    queryFn: async () => parseCheck(await (await read("/audit-log/check", { organizationId: org.id })).text()),
    enabled: open,
    staleTime: 0,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
  });
  return (
    <Dialog open={open} onClose={onClose} title={w.check} wide>
      {check.isFetching ? (
        <SkeletonLines lines={3} />
      ) : check.error ? (
        <ErrorPanel error={check.error} retry={() => void check.refetch()} />
      ) : (
        check.data && <Result checked={check.data} />
      )}
      <p className="small muted">{w.checkHelp}</p>
      <div className="row end">
        <Button onClick={onClose}>{words.ui.close}</Button>
      </div>
    </Dialog>
  );
}

function Result({ checked: { entries, problems } }: { checked: Checked }) {
  if (entries === undefined) return <p role="alert">{w.checkCut}</p>;
  if (problems.length === 0) return <p role="status">✓ {w.checkFine(count(entries))}</p>;
  return (
    <div className="stack tight" role="alert">
      <strong>{w.checkFound(problems.length)}</strong>
      <ul className="stack tight">
        {problems.map((p, i) => (
          <li key={i} className="card">
            <strong>{w.checkKinds[p.kind] ?? p.kind}</strong>{" "}
            {p.entries && <span className="faint">{w.checkEntries(p.entries)}</span>}
            <div>
              <AgentText text={p.message} />
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}
