import { StatusBadge } from "../../ui/Badge";
import { words } from "../../words/en";
import type { Finding } from "./queries";

const w = words.findings;

/** Sentence says what a finding is. */
export function Sentence({ finding: f }: { finding: Finding }) {
  const numbered = f.kind === "sequence_gap" || f.kind === "lease_gap";
  const gap = numbered && f.firstSeq !== undefined && f.lastSeq !== undefined;
  return <>{gap ? w.missing(f.firstSeq ?? 0, f.lastSeq ?? 0, f.missing ?? 0) : (w.sentences[f.kind] ?? f.kind)}</>;
}

/** State is whether it is resolved. */
export function State({ finding }: { finding: Finding }) {
  return <StatusBadge word={finding.resolvedAt ? w.resolved : w.open} error={!finding.resolvedAt} />;
}
