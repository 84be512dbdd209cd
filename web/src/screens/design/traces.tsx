import { useState } from "react";
import { TraceStatus } from "../../ui/TraceStatus";
import { buildTree, type Span } from "../../ui/waterfall/tree";
import { type View, Waterfall } from "../../ui/waterfall/Waterfall";
import { hostile } from "./hostile";
import { Section } from "./screen";

const span = (
  id: string,
  parent: string | null,
  start: number,
  end: number | null,
  more: Partial<Span> = {},
): Span => ({
  id,
  parent,
  kind: "other",
  name: id,
  start,
  end,
  failed: false,
  ...more,
});

const tree = buildTree([
  span("pay rent", null, 0, 12_400),
  span("chat", "pay rent", 100, 3000, { kind: "generation" }),
  span(hostile.script, "pay rent", 3100, 7000, { kind: "tool", failed: true }),
  span("bank.send_money", hostile.script, 3200, 3201, { kind: "decision", verdict: "deny", index: 1207 }),
  span("would be held", hostile.script, 3300, 3300, { kind: "decision", verdict: "hold", shadow: true, index: 1208 }),
  span("never ended", "pay rent", 7100, null),
  span("outside its parent", "chat", 9000, 9100),
  span("lost", "nobody", 4000, 4100),
  ...Array.from({ length: 12 }, (_, i) =>
    span(`fetch${i}`, "pay rent", 7200 + i * 20, 7215 + i * 20, { name: "fetch" }),
  ),
]);

const noKinds: never[] = [];

/** Traces shows how traces are drawn. */
export function Traces() {
  const [critical, setCritical] = useState(false);
  const [view, setView] = useState<View>();
  const [selected, setSelected] = useState<string | undefined>("chat");
  return (
    <Section title="Traces">
      <div className="row wrap">
        {["ok", "error", "denied", "active", "expired", "completed"].map((s) => (
          <TraceStatus key={s} status={s} />
        ))}
      </div>
      <div style={{ blockSize: 420, display: "flex" }}>
        <Waterfall
          label="A waterfall"
          tree={tree}
          find=""
          kinds={noKinds}
          critical={critical}
          onCritical={() => setCritical(!critical)}
          view={view}
          onView={setView}
          selected={selected}
          onSelect={setSelected}
        />
      </div>
    </Section>
  );
}
