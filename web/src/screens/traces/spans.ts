// Spans as the API has them, made into what a waterfall draws; and decisions put where they belong.
import type { Span, SpanKind } from "../../ui/waterfall/tree";
import type { Decision, SpanBody } from "./queries";

/** millisOf is a time in milliseconds, with the fraction that Date leaves out. */
export function millisOf(iso: string): number {
  const fraction = /\.(\d+)/.exec(iso)?.[1] ?? "";
  const whole = Date.parse(iso.replace(/\.\d+/, ""));
  return whole + Number(`0.${fraction || 0}`) * 1000;
}

function kindOf(span: SpanBody): SpanKind {
  if (span.kind === "generation") return "generation";
  if (span.kind === "policy_call") return "decision";
  return span.facts?.toolName ? "tool" : "other";
}

/** drawn is a span as it is drawn. What a client says of a verdict is shown without a link. */
export function drawn(span: SpanBody): Span {
  const start = millisOf(span.startTime);
  const ended = span.endTime
    ? millisOf(span.endTime)
    : span.durationMs === null
      ? null
      : start + Number(span.durationMs);
  const kind = kindOf(span);
  return {
    id: span.id,
    parent: span.parentSpanId,
    kind,
    name: kind === "decision" ? (span.facts?.toolName ?? span.name) : span.name,
    start,
    end: ended,
    failed: span.status !== "ok",
    verdict: span.facts?.decision || undefined,
    shadow: span.facts?.shadow ?? false,
    index: span.facts?.auditIndex === undefined ? undefined : Number(span.facts.auditIndex),
  };
}

// Harnesses name the same tool with or without its server.
const bare = (tool: string) => tool.split(/\.|__|\//).at(-1) ?? tool;

/** toolOf is a tool with its server, if it has one. */
export const toolOf = (d: { server: string; tool: string }) =>
  d.server && d.server !== "local" ? `${d.server}.${d.tool}` : d.tool;

export const decisionId = (index: number) => `decision-${index}`;

const slack = 100; // clocks of agents and the server differ a little

/**
 * withDecisions adds the decisions of the log that no span shows yet: each below the latest span of its tool that had
 * begun and had not ended, else below the first root that was running.
 */
export function withDecisions(spans: Span[], tools: ReadonlyMap<string, string>, decisions: Decision[]): Span[] {
  const shown = new Set(spans.map((s) => s.index));
  const byTool = new Map<string, Span[]>();
  for (const span of spans) {
    const tool = bare(tools.get(span.id) ?? "");
    if (!tool || span.kind === "decision") continue;
    const list = byTool.get(tool);
    if (list) list.push(span);
    else byTool.set(tool, [span]);
  }
  const roots = spans.filter((s) => s.parent === null && s.kind !== "decision");
  const added = decisions
    .filter((d) => !shown.has(Number(d.index)))
    .map((d): Span => {
      const at = millisOf(d.at);
      const running = (s: Span) => s.start - slack <= at && at <= (s.end ?? at) + slack;
      const calls = (byTool.get(bare(d.tool)) ?? []).filter(running);
      const latest = calls.reduce<Span | undefined>((a, s) => (a && a.start >= s.start ? a : s), undefined);
      return {
        id: decisionId(Number(d.index)),
        parent: (latest ?? roots.find(running))?.id ?? null,
        kind: "decision",
        name: toolOf(d),
        start: at,
        end: at,
        failed: false,
        verdict: d.decision,
        index: Number(d.index),
      };
    });
  return [...spans, ...added];
}
