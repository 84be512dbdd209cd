import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Check, Download, ShieldCheck, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { useOrg } from "../../app/org";
import type { LogOutcome } from "../../proof/prove";
import { Button } from "../../ui/Button";
import { bytes, count } from "../../ui/format";
import { explain } from "../../ui/states";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { Alarm } from "./Alarm";
import { CheckLog } from "./CheckLog";
import { read, saveAs } from "./download";
import { logProofQuery } from "./useProof";

const w = words.audit;

/** LogBar is the head of the log: whether it only grew since this browser saw it, export, and check. */
export function LogBar() {
  const org = useOrg();
  const client = useQueryClient();
  const [checking, setChecking] = useState(false);
  const log = useQuery(logProofQuery(org.id)).data;
  const again = () => void client.resetQueries({ queryKey: logProofQuery(org.id).queryKey });
  return (
    <>
      <div className="screen-head">
        <h1>{w.title}</h1>
        <span className="grow">{log && <State log={log} />}</span>
        <Button onClick={() => setChecking(true)}>
          <ShieldCheck size={14} aria-hidden />
          {w.check}
        </Button>
        <ExportButton />
      </div>
      {log?.problem && <Alarm outcome={log} onAgain={again} />}
      <CheckLog open={checking} onClose={() => setChecking(false)} />
    </>
  );
}

function State({ log }: { log: LogOutcome }) {
  const { problem, seen, checkpoint } = log;
  if (problem || !checkpoint) {
    return (
      <span className="row small wrong-text">
        <TriangleAlert size={14} aria-hidden />
        {words.proof.notProven}
      </span>
    );
  }
  const size = count(checkpoint.size);
  const text = !seen
    ? `${words.proof.logSize(size)}, ${words.proof.logFirst}`
    : seen.size === checkpoint.size
      ? words.proof.logSame(size)
      : words.proof.logConsistent(count(seen.size), size);
  return (
    <span className="row small muted">
      <Check size={14} aria-hidden />
      {text}
    </span>
  );
}

function ExportButton() {
  const org = useOrg();
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      const answer = await read("/audit-log/export", { organizationId: org.id });
      const content = await answer.blob();
      saveAs(content, `audit-${org.name}-${new Date().toISOString().slice(0, 10)}.ndjson`);
      toast(w.exported(bytes(content.size)));
    } catch (error) {
      const { title, help } = explain(error);
      toast(`${title} ${help}`, { error: true });
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button onClick={() => void run()} busy={busy}>
      <Download size={14} aria-hidden />
      {busy ? w.exporting : w.export}
    </Button>
  );
}
