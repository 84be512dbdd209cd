import { ChevronDown, ChevronRight, TriangleAlert } from "lucide-react";
import { memo, type ReactNode, type RefObject, useEffect, useRef } from "react";
import { words } from "../../words/en";
import { AgentText } from "../AgentText";
import { VerdictBadge } from "../Badge";
import { count, duration } from "../format";
import type { Row } from "./rows";
import { endOf, type Node, type Span, type Tree } from "./tree";
import type { View } from "./Waterfall";

const w = words.waterfall;

interface RowProps {
  row: Row;
  tree: Tree;
  index: number;
  start: number;
  view: View;
  active: boolean;
  selected: boolean;
  critical: boolean;
  dimmed: boolean;
  focusing: RefObject<number>;
  onRow: (row: Row, index: number) => void;
  onTurn: (key: string, open: boolean) => void;
}

/** WaterfallRow is a span with its bar, or what stands for several. */
export const WaterfallRow = memo(function WaterfallRow(props: RowProps) {
  const { row, tree, index, start, view, active, selected, critical, dimmed, focusing, onRow, onTurn } = props;
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    for (const inside of element.current?.querySelectorAll<HTMLElement>("a") ?? []) inside.tabIndex = active ? 0 : -1;
    if (!active || focusing.current !== index) return;
    focusing.current = -1;
    element.current?.focus({ preventScroll: true });
  });
  const open = row.is === "gap" ? undefined : row.open;
  const looks = [selected && "selected", critical && "critical", dimmed && "dimmed", row.is].filter(Boolean).join(" ");
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the waterfall takes the keys of its rows
    <div
      ref={element}
      role="row"
      aria-level={row.level}
      aria-rowindex={index + 1}
      aria-expanded={open}
      aria-selected={selected}
      tabIndex={active ? 0 : -1}
      data-index={index}
      className={`waterfall-row ${looks}`}
      style={{ transform: `translateY(${start}px)` }}
      onClick={(event) => {
        if (!(event.target as HTMLElement).closest("a, button")) onRow(row, index);
      }}
    >
      <div role="gridcell" className="waterfall-name" style={{ paddingInlineStart: indentOf(row.level) }}>
        {open === undefined ? (
          <span className="fold" />
        ) : (
          <button
            type="button"
            className="fold"
            tabIndex={-1}
            aria-label={open ? w.fold : w.unfold}
            onClick={() => onTurn(row.key, !open)}
          >
            {open ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
          </button>
        )}
        <Name row={row} tree={tree} />
      </div>
      <div role="gridcell" className="waterfall-bars">
        <Bars row={row} tree={tree} view={view} />
      </div>
    </div>
  );
});

// Deep trees are not drawn ever further to the side.
const indentOf = (level: number) => 4 + Math.min(level - 1, 12) * 14;

function Name({ row, tree }: { row: Row; tree: Tree }): ReactNode {
  if (row.is === "gap") return <span className="faint one-line">{w.noSpan(duration(row.to - row.from))}</span>;
  if (row.is === "orphans") return <span className="muted one-line">{w.orphans(row.count)}</span>;
  if (row.is === "group") {
    return (
      <>
        <span className="grow one-line">
          <AgentText text={row.name} line />
        </span>
        <span className="faint">×{count(row.nodes.length)}</span>
        <Marks failed={row.failed > 0} verdict={row.verdict} />
      </>
    );
  }
  const node = tree.nodes[row.node] as Node;
  const folded = row.open === false;
  return (
    <>
      <span className={`kind-dot ${node.span.kind}`} title={w.kinds[node.span.kind]} />
      <span className="grow one-line">
        <AgentText text={node.span.name} line />
      </span>
      {node.skewed && <span className="small faint">{w.skewed}</span>}
      {folded && <span className="small faint">{w.below(node.below.spans)}</span>}
      <Marks
        failed={node.span.failed || (folded && node.below.failed > 0)}
        verdict={node.span.verdict ?? (folded ? node.below.verdict : undefined)}
        span={node.span.verdict ? node.span : undefined}
      />
    </>
  );
}

function Marks({ failed, verdict, span }: { failed: boolean; verdict: string | undefined; span?: Span | undefined }) {
  return (
    <>
      {failed && verdict !== "deny" && (
        <TriangleAlert className="error-mark" size={14} role="img" aria-label={w.error} />
      )}
      {verdict && <VerdictBadge verdict={verdict} index={span?.index} {...(span?.shadow ? { shadow: true } : {})} />}
    </>
  );
}

function Bars({ row, tree, view }: { row: Row; tree: Tree; view: View }): ReactNode {
  if (row.is === "orphans") return null;
  if (row.is === "gap") return <Bar className="gap" from={row.from} to={row.to} view={view} />;
  if (row.is === "group") {
    const spans = row.nodes.map((i) => (tree.nodes[i] as Node).span);
    const from = spans.reduce((a, s) => Math.min(a, s.start), Number.POSITIVE_INFINITY);
    const to = spans.reduce((a, s) => Math.max(a, endOf(s)), Number.NEGATIVE_INFINITY);
    return <Bar className={`many ${spans[0]?.kind}`} from={from} to={to} view={view} label={duration(to - from)} />;
  }
  const { span } = tree.nodes[row.node] as Node;
  const looks = [span.kind, span.failed && "failed", span.end === null && "open-ended"].filter(Boolean).join(" ");
  const took = endOf(span) - span.start;
  const label = span.end === null ? w.noEnd : took > 0 ? duration(took) : undefined;
  return <Bar className={looks} from={span.start} to={endOf(span)} view={view} label={label} />;
}

interface BarProps {
  className: string;
  from: number;
  to: number;
  view: View;
  label?: string | undefined;
}

// Bars are percent of the view: they always fit. The label stands behind its bar, where room is kept for it.
function Bar({ className, from, to, view, label }: BarProps) {
  const whole = view.to - view.from || 1;
  const left = (100 * (from - view.from)) / whole;
  const right = (100 * (to - view.from)) / whole;
  if (right < 0 || left > 100) return null;
  const begin = Math.max(0, left);
  const end = Math.min(100, right);
  return (
    <>
      <span
        className={`span-bar ${className}`}
        style={{ insetInlineStart: `${begin}%`, inlineSize: `${end - begin}%` }}
      />
      {label && (
        <span className="span-bar-label" style={{ insetInlineStart: `calc(${end}% + 6px)` }}>
          {label}
        </span>
      )}
    </>
  );
}
