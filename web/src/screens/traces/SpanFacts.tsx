import type { ReactNode } from "react";
import { AgentText } from "../../ui/AgentText";
import { ProofLink, VerdictBadge } from "../../ui/Badge";
import { IdChip } from "../../ui/CopyButton";
import { count, duration, money } from "../../ui/format";
import { Time } from "../../ui/Time";
import { words } from "../../words/en";
import type { SpanBody } from "./queries";

const w = words.span;

/** Fact is a name beside a value; nothing without a value. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === undefined || children === null || children === "" || children === false) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** SpanFacts is what is known of a span beside what was said. */
export function SpanFacts({ span }: { span: SpanBody }) {
  const f = span.facts ?? {};
  const index = f.auditIndex === undefined ? undefined : Number(f.auditIndex);
  const finish = (span.attributes as { finishReason?: unknown }).finishReason;
  return (
    <dl className="facts">
      <Fact name={w.verdict}>
        {f.decision && (
          <span className="row wrap">
            <VerdictBadge verdict={f.decision} index={index} {...(f.shadow ? { shadow: true } : {})} />
            {index === undefined ? <span className="small muted">{w.said}</span> : <ProofLink index={index} />}
          </span>
        )}
      </Fact>
      <Fact name={w.kind}>
        <AgentText text={span.kind} />
      </Fact>
      <Fact name={w.began}>
        <Time at={span.startTime} form="absolute" />
      </Fact>
      <Fact name={w.took}>{span.durationMs === null ? words.waterfall.noEnd : duration(Number(span.durationMs))}</Fact>
      <Fact name={w.tool}>{f.toolName && <AgentText text={f.toolName} />}</Fact>
      <Fact name={w.model}>{f.model && <AgentText text={f.model} />}</Fact>
      <Fact name={w.tokens}>{span.kind === "generation" && <Tokens facts={f} />}</Fact>
      <Fact name={w.cost}>{span.costUsd !== null && money(Number(span.costUsd))}</Fact>
      <Fact name={w.finish}>{typeof finish === "string" && finish && <AgentText text={finish} />}</Fact>
      <Fact name={w.policy}>{f.policyId && <AgentText text={f.policyId} />}</Fact>
      <Fact name={w.rule}>{f.ruleId && <AgentText text={f.ruleId} />}</Fact>
      <Fact name={w.id}>
        <IdChip id={span.id} />
      </Fact>
      <Fact name={w.parent}>{span.parentSpanId && <IdChip id={span.parentSpanId} />}</Fact>
    </dl>
  );
}

function Tokens({ facts: f }: { facts: NonNullable<SpanBody["facts"]> }) {
  const n = (value: number | undefined) => count(Number(value ?? 0));
  const cached = Number(f.cacheReadTokens ?? 0) + Number(f.cacheWriteTokens ?? 0) > 0;
  return (
    <>
      {w.tokensOf(n(f.inputTokens), n(f.outputTokens))}
      {cached && <span className="small muted"> · {w.cacheOf(n(f.cacheReadTokens), n(f.cacheWriteTokens))}</span>}
    </>
  );
}
