import type { Json } from "../../api/exact";
import { AgentText } from "../../ui/AgentText";
import { JsonValue } from "../../ui/json/JsonViewer";
import { servers as w } from "../../words/servers";
import type { Tool } from "./queries";

/** Definition is all that a server says of a tool. */
export function Definition({ tool: t }: { tool: Tool }) {
  return (
    <details className="server-whole">
      <summary>{w.whole}</summary>
      <div className="stack tight">
        {t.title && <AgentText text={t.title} />}
        <AgentText text={t.description} block />
        <h3>{w.schema}</h3>
        <JsonValue value={t.inputSchema as unknown as Json} name={w.schema} />
        <h3>{w.annotations}</h3>
        <JsonValue value={t.annotations as unknown as Json} name={w.annotations} />
      </div>
    </details>
  );
}
