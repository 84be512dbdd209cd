import { ArrowRight } from "lucide-react";
import { AgentText } from "../../ui/AgentText";
import { servers as w } from "../../words/servers";
import type { Flow } from "./flow";

const legs = ["untrusted", "private", "out"] as const;

/** FlowPicture draws how private data could leave: what is read, what is known, and the way out. */
export function FlowPicture({ flow }: { flow: Flow }) {
  return (
    <div className="stack tight">
      <h3>{w.flow}</h3>
      <ol className="flow">
        {legs.map((leg, i) => (
          <li key={leg}>
            {i > 0 && <ArrowRight size={20} aria-hidden />}
            <div className="flow-leg">
              <span className="small muted">{w.legs[leg]}</span>
              <ul>
                {flow[leg].map((name) => (
                  <li key={name}>{name === "…" ? w.moreTools : <AgentText text={name} short />}</li>
                ))}
              </ul>
            </div>
          </li>
        ))}
      </ol>
      <p className="small muted">{w.flowMeans}</p>
    </div>
  );
}
