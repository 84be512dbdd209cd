import { Search } from "lucide-react";
import { useEffect, useState } from "react";
import type { SearchOf } from "../../app/search";
import { Button } from "../../ui/Button";
import type { SpanKind } from "../../ui/waterfall/tree";
import { words } from "../../words/en";
import type { TraceDetail } from "./queries";
import type { traceSearch } from "./search";

const w = words.traces;
const kinds: SpanKind[] = ["generation", "tool", "decision", "other"];

interface ToolsProps {
  trace: TraceDetail;
  search: SearchOf<typeof traceSearch>;
  onChange: (changed: object, replace?: boolean) => void;
  onCritical: () => void;
}

/** Tools finds spans, chooses kinds (and says what their colours mean), and marks the critical path. */
export function Tools({ trace, search, onChange, onCritical }: ToolsProps) {
  const chosen = search.kind ?? [];
  const turn = (kind: SpanKind) => {
    const next = chosen.includes(kind) ? chosen.filter((k) => k !== kind) : [...chosen, kind];
    onChange({ kind: next.length === 0 ? undefined : next });
  };
  const errors = Number(trace.totals?.errorCount ?? 0);
  const all = Number(trace.totals?.spanCount ?? trace.spans.length);
  return (
    <div className="trace-tools">
      <Find value={search.q ?? ""} onChange={(q) => onChange({ q: q || undefined }, true)} />
      <div className="trace-kinds">
        {kinds.map((kind) => (
          <Button key={kind} aria-pressed={chosen.includes(kind)} className="kind-button" onClick={() => turn(kind)}>
            <span className={`kind-dot ${kind}`} />
            {words.waterfall.kinds[kind]}
          </Button>
        ))}
        <Button aria-pressed={search.path === "critical"} onClick={onCritical}>
          {w.critical}
        </Button>
      </div>
      <span className="small muted" role="status">
        {w.spans(all)}
        {errors > 0 && ` · ${w.errors(errors)}`}
      </span>
    </div>
  );
}

// What is typed goes into the address when the typing rests.
function Find({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => {
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), 200);
    return () => clearTimeout(timer);
  });
  return (
    <label className="trace-find">
      <Search size={14} aria-hidden />
      <input
        data-find
        className="input"
        type="search"
        aria-label={w.find}
        placeholder={w.find}
        maxLength={200}
        value={text}
        onChange={(e) => setText(e.target.value)}
        onClick={(e) => e.currentTarget.focus()}
      />
    </label>
  );
}
