import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { Loaded } from "../../ui/Loaded";
import { SkeletonLines } from "../../ui/states";
import { TraceStatus } from "../../ui/TraceStatus";
import { useNarrow } from "../../ui/useNarrow";
import { words } from "../../words/en";
import { DecisionFacts } from "./DecisionFacts";
import { Payload } from "./Payload";
import { type Decision, headQuery, type SpanBody, spanQuery, type TraceDetail } from "./queries";
import { SpanFacts } from "./SpanFacts";
import { decisionId, toolOf } from "./spans";

const w = words.span;

interface PanelProps {
  trace: TraceDetail;
  selected: string | undefined;
  decisions: Decision[];
  onSelect: (span: string | undefined) => void;
}

/** SpanPanel is what one span did; without one, what the trace was about. On a phone it is a sheet. */
export function SpanPanel({ trace, selected, decisions, onSelect }: PanelProps) {
  const narrow = useNarrow();
  const decision = decisions.find((d) => decisionId(Number(d.index)) === selected);
  if (selected === undefined) return narrow ? null : <OfTrace trace={trace} />;
  const close = () => onSelect(undefined);
  if (decision) {
    return (
      <Panel title={toolOf(decision)} onClose={close}>
        <DecisionFacts decision={decision} />
        <p className="small faint">{w.ownClock}</p>
      </Panel>
    );
  }
  return <OfSpan trace={trace} id={selected} decisions={decisions} onClose={close} />;
}

function OfTrace({ trace }: { trace: TraceDetail }) {
  const org = useOrg();
  const head = useQuery(headQuery(org.id, trace.id));
  return (
    <Panel title={w.ofTrace}>
      <p className="small muted">{w.choose}</p>
      <Loaded query={head} skeleton={<SkeletonLines lines={6} />}>
        {(found) => <Payload attributes={found?.attributes} />}
      </Loaded>
    </Panel>
  );
}

interface SpanProps {
  trace: TraceDetail;
  id: string;
  decisions: Decision[];
  onClose: () => void;
}

function OfSpan({ trace, id, decisions, onClose }: SpanProps) {
  const org = useOrg();
  const known = trace.spans.find((s) => s.id === id);
  const span = useQuery(spanQuery(org.id, trace.id, id));
  return (
    <Panel title={known?.name ?? w.title} onClose={onClose} badge={known && <TraceStatus status={known.status} />}>
      <Loaded query={span} skeleton={<SkeletonLines lines={8} />}>
        {(found) =>
          found === null ? <p className="muted">{w.missing}</p> : <Found span={found} decisions={decisions} />
        }
      </Loaded>
    </Panel>
  );
}

function Found({ span, decisions }: { span: SpanBody; decisions: Decision[] }) {
  const index = span.facts?.auditIndex;
  const decision = index === undefined ? undefined : decisions.find((d) => Number(d.index) === Number(index));
  return (
    <>
      {decision && !span.facts?.shadow && <DecisionFacts decision={decision} />}
      <SpanFacts span={span} />
      <Payload attributes={span.attributes} />
    </>
  );
}

interface BoxProps {
  title: string;
  badge?: ReactNode;
  onClose?: () => void;
  children: ReactNode;
}

function Panel({ title, badge, onClose, children }: BoxProps) {
  const element = useRef<HTMLElement>(null);
  const narrow = useNarrow();
  useEffect(() => {
    if (narrow && onClose) element.current?.focus();
  }, [narrow, onClose]);
  return (
    <section
      ref={element}
      className="span-panel"
      aria-label={w.title}
      tabIndex={0}
      onKeyDown={(event) => event.key === "Escape" && onClose?.()}
    >
      <div className="row span-title">
        {badge}
        <h2 className="grow">
          <AgentText text={title} />
        </h2>
        {onClose && (
          <Button look="quiet" icon aria-label={w.close} onClick={onClose}>
            <X size={16} aria-hidden />
          </Button>
        )}
      </div>
      {children}
    </section>
  );
}
