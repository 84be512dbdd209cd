import { AgentText } from "../../ui/AgentText";
import { clean } from "../../ui/clean";
import { LineDiff } from "../../ui/LineDiff";
import { policies as w } from "../../words/policies";
import type { Change } from "./queries";

// A rule as YAML ends with a line break, which is no line of its own.
const lines = (text = "") => text.replace(/\n$/, "");

/** RuleChanges are how two versions differ, rule by rule. */
export function RuleChanges({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0) return <p>{w.sameRules}</p>;
  return (
    <ul className="stack tight" aria-label={w.byRules}>
      {changes.map((c, i) => (
        <li key={i} className="stack tight">
          <span className="row wrap">
            <strong>{c.rule ? <AgentText text={c.rule} short /> : w.document}</strong>
            {c.field && <code>{c.field}</code>}
            <span className="small muted">{w.changed[c.kind] ?? c.kind}</span>
          </span>
          <LineDiff before={lines(c.old)} after={lines(c.new)} label={clean(c.rule ?? w.document)} />
        </li>
      ))}
    </ul>
  );
}
