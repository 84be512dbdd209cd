import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import type { Mark } from "../../ui/editor/Editor";
import { policies as w } from "../../words/policies";
import type { Checked } from "./useCheck";

/** Problems is what the server says of a text: where, what, and what to do. Each leads to its place. */
export function Problems({ checked, onGo }: { checked: Checked; onGo: (mark: Mark) => void }) {
  return (
    <section className="card stack tight" aria-busy={checked.is === "checking" || undefined}>
      <h2>{w.problems}</h2>
      <p role="status" className="small muted policy-said">
        {checked.is === "checking"
          ? w.checking
          : checked.is === "failed"
            ? w.notChecked
            : checked.marks.length === 0
              ? w.fine
              : ""}
      </p>
      {checked.marks.length > 0 && (
        <ul className="lines" aria-label={w.problems}>
          {checked.marks.map((mark, i) => (
            <li key={i}>
              <button
                type="button"
                className="policy-problem"
                aria-description={w.goThere(mark.line)}
                onClick={() => onGo(mark)}
              >
                <span className="row wrap">
                  <StatusBadge word={w.severities[mark.severity]} error={mark.severity === "error"} />
                  <span className="small muted">{w.at(mark.line, mark.column)}</span>
                </span>
                <AgentText text={mark.message} short />
                {mark.fix && (
                  <span className="small muted">
                    {" "}
                    {w.fix} <AgentText text={mark.fix} short />
                  </span>
                )}
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
