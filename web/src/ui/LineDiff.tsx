import { words } from "../words/en";
import { AgentText } from "./AgentText";
import { diffLines, nearChanges } from "./lines";
import "./lines.css";

const signs = { same: " ", plus: "+", minus: "−" };

/** LineDiff is how two texts differ, line by line. */
export function LineDiff({ before, after, label }: { before: string; after: string; label: string }) {
  return (
    <div className="line-diff" role="region" aria-label={label} tabIndex={0}>
      {nearChanges(diffLines(before, after)).map((line, i) =>
        typeof line === "number" ? (
          <div key={i} className="line-left faint small">
            {words.ui.sameLines(line)}
          </div>
        ) : (
          <div key={i} className={`line-row ${line.kind}`}>
            <span aria-hidden>{signs[line.kind]}</span>
            {line.kind !== "same" && <span className="hidden-text">{words.ui.lineKinds[line.kind]}</span>}
            <AgentText text={line.text} block />
          </div>
        ),
      )}
    </div>
  );
}
