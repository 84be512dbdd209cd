import { AgentText } from "../../ui/AgentText";
import { StatusBadge, VerdictBadge, verdicts } from "../../ui/Badge";
import { policies as w } from "../../words/policies";
import type { Listed } from "./queries";

type State = Pick<Listed, "status" | "shadowVersion" | "face">;

/** PolicyStatus is whether calls are judged by a policy, and whether it has a shadow. */
export function PolicyStatus({ policy: p }: { policy: State }) {
  return (
    <span className="row wrap policy-status">
      <StatusBadge word={w.statuses[p.status] ?? p.status} />
      {p.shadowVersion != null && <span className="badge neutral shadowed">{w.shadowOf(p.shadowVersion)}</span>}
      {p.face === "profile" && <span className="small muted">{w.profile}</span>}
    </span>
  );
}

/** Answer is what would be answered: a verdict, or a word for what is none. */
export function Answer({ answer }: { answer: string }) {
  return (verdicts as string[]).includes(answer) ? (
    <VerdictBadge verdict={answer} />
  ) : (
    <StatusBadge word={w.answers[answer] ?? answer} />
  );
}

/** Sentences are what a policy says, one for each rule. */
export function Sentences({ all, label }: { all: readonly string[]; label: string }) {
  return (
    <ol className="policy-words" aria-label={label}>
      {all.map((sentence, i) => (
        <li key={i}>
          <AgentText text={sentence} />
        </li>
      ))}
    </ol>
  );
}
