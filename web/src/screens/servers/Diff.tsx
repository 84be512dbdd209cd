import { AgentText } from "../../ui/AgentText";
import { servers as w } from "../../words/servers";
import type { Change } from "./queries";

/** Diff is how a tool differs from what was accepted, place by place. */
export function Diff({ changes }: { changes: Change[] }) {
  return (
    <div className="stack tight">
      <h3>{w.differs}</h3>
      <ul className="diff">
        {changes.map((c, i) => (
          <li key={i}>
            <code className="diff-path">
              <AgentText text={c.path} short />
            </code>
            <Line sign="−" word={c.after === undefined ? w.removed : w.was} text={c.before} kind="minus" />
            <Line sign="+" word={c.before === undefined ? w.added : w.is} text={c.after} kind="plus" />
          </li>
        ))}
      </ul>
    </div>
  );
}

interface LineProps {
  sign: string;
  /** The sign in a word, for whoever hears it. */
  word: string;
  text: string | undefined;
  kind: "plus" | "minus";
}

function Line({ sign, word, text, kind }: LineProps) {
  if (text === undefined) return null;
  return (
    <div className={`diff-line ${kind}`}>
      <span aria-hidden>{sign}</span>
      <span className="hidden-text">{word}</span>
      <AgentText text={text} block />
    </div>
  );
}
