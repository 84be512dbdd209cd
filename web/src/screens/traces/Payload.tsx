import type { Json } from "../../api/exact";
import { useMay } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { JsonViewer } from "../../ui/json/JsonViewer";
import { words } from "../../words/en";

const w = words.span;

// What was said comes under these names, of SDKs and of OpenTelemetry.
const parts: [string, string[]][] = [
  [w.prompt, ["prompt", "gen_ai.prompt", "gen_ai.input.messages"]],
  [w.completion, ["completion", "gen_ai.completion", "gen_ai.output.messages"]],
  [w.input, ["input", "arguments", "toolInput", "tool_input", "gen_ai.tool.call.arguments"]],
  [w.output, ["output", "result", "toolOutput", "tool_output", "gen_ai.tool.call.result"]],
];

/** Payload is what was said: prompt, completion, input, output, and all of it. */
export function Payload({ attributes }: { attributes: unknown }) {
  const refused = useMay("payloads.read");
  const all = (attributes ?? {}) as Record<string, Json>;
  const names = Object.keys(all);
  if (refused && names.length === 0) return <p className="small muted">{w.noPayloads}</p>;
  if (names.length === 0) return <p className="small muted">{w.noAttributes}</p>;
  const found = parts.flatMap(([title, known]) => {
    const name = known.find((n) => Object.hasOwn(all, n) && all[n] !== null && all[n] !== "");
    return name === undefined ? [] : [{ title, value: all[name] as Json }];
  });
  return (
    <div className="stack tight">
      {found.map(({ title, value }) => (
        <details key={title} className="payload" open>
          <summary>{title}</summary>
          {typeof value === "string" ? (
            <AgentText text={value} block copy />
          ) : (
            <JsonViewer label={title} value={value} />
          )}
        </details>
      ))}
      <details className="payload" open={found.length === 0}>
        <summary>{w.raw}</summary>
        <JsonViewer label={w.raw} value={all} />
      </details>
    </div>
  );
}
