import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { words } from "../../words/en";
import { useNarrow } from "../useNarrow";
import { Minimap } from "./Minimap";
import { type Row, rowsOf } from "./rows";
import { criticalPath, type SpanKind, type Tree } from "./tree";
import { WaterfallRow } from "./WaterfallRow";
import "./waterfall.css";

/** View is the span of time that is drawn, in milliseconds as spans have them. */
export interface View {
  from: number;
  to: number;
}

export interface WaterfallProps {
  label: string;
  tree: Tree;
  find: string;
  kinds: readonly SpanKind[];
  critical: boolean;
  onCritical: () => void;
  /** Undefined: all of the trace. */
  view: View | undefined;
  onView: (view: View | undefined) => void;
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
}

/** Waterfall draws the spans of a trace under each other. Only rows in view are in the page. */
export function Waterfall(props: WaterfallProps) {
  const { label, tree, find, kinds, critical, selected, onSelect } = props;
  const [turned, setTurned] = useState<ReadonlyMap<string, boolean>>(() => new Map());
  const rows = useMemo(() => rowsOf(tree, { turned, find, kinds }), [tree, turned, find, kinds]);
  const path = useMemo(() => (critical ? criticalPath(tree) : undefined), [tree, critical]);
  const view = useMemo(() => props.view ?? { from: tree.start, to: tree.end }, [props.view, tree]);
  const turn = useCallback((key: string, open: boolean) => setTurned((old) => new Map(old).set(key, open)), []);
  const idOf = (row: Row | undefined) => (row?.is === "span" ? tree.nodes[row.node]?.span.id : undefined);
  const chosen = selected === undefined ? -1 : rows.findIndex((row) => idOf(row) === selected);
  const list = useRowList(rows, chosen);
  const { scroller, virtual, active, focusRow } = list;
  const acts = useActs({ ...props, tree, rows, view, turn, focusRow });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target as HTMLElement).closest("a")) return;
    if (acts(event.key, active)) event.preventDefault();
  };
  const onRow = useCallback(
    (row: Row, i: number) => {
      list.setActive(i);
      if (row.is === "span") onSelect(tree.nodes[row.node]?.span.id);
      else if (row.is !== "gap") turn(row.key, !row.open);
    },
    [list.setActive, onSelect, tree, turn],
  );
  return (
    <div className="waterfall">
      <Minimap tree={tree} view={props.view} onView={props.onView} />
      <div
        ref={scroller}
        className="waterfall-scroll"
        role="treegrid"
        aria-label={label}
        aria-rowcount={rows.length}
        onKeyDown={onKeyDown}
      >
        {rows.length === 0 && (
          <div role="row">
            <div role="gridcell" className="waterfall-none muted">
              {words.waterfall.nothingFound}
            </div>
          </div>
        )}
        <div role="rowgroup" className="waterfall-body" style={{ blockSize: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index] as Row;
            return (
              <WaterfallRow
                key={item.key}
                row={row}
                tree={tree}
                index={item.index}
                start={item.start}
                view={view}
                active={item.index === active}
                selected={item.index === chosen}
                critical={path !== undefined && row.is === "span" && path.has(row.node)}
                dimmed={path !== undefined && !(row.is === "span" && path.has(row.node))}
                focusing={list.focusing}
                onRow={onRow}
                onTurn={turn}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

// The virtual list of rows, with one of them active.
function useRowList(rows: Row[], chosen: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const narrow = useNarrow();
  const [wanted, setActive] = useState(0);
  const active = Math.min(wanted, rows.length - 1);
  const focusing = useRef(-1);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: useCallback(() => (narrow ? 48 : 28), [narrow]),
    overscan: 16,
    getItemKey: useCallback((i: number) => rows[i]?.key ?? i, [rows]),
    rangeExtractor: useCallback(
      (range: Range) => {
        const shown = defaultRangeExtractor(range);
        if (active < 0 || shown.includes(active)) return shown;
        return [...shown, active].sort((a, b) => a - b);
      },
      [active],
    ),
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows have another height on a phone
  useLayoutEffect(() => {
    virtual.measure();
  }, [narrow]);
  // What an address names is shown when it is opened.
  const shownFirst = useRef(false);
  useEffect(() => {
    if (shownFirst.current || chosen < 0) return;
    shownFirst.current = true;
    setActive(chosen);
    virtual.scrollToIndex(chosen, { align: "center" });
  }, [chosen, virtual]);
  const focusRow = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    focusing.current = next;
    setActive(next);
    virtual.scrollToIndex(next);
    if (next === active) scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus();
  };
  return { scroller, virtual, active, setActive, focusing, focusRow };
}

interface Acting extends WaterfallProps {
  rows: Row[];
  view: View;
  turn: (key: string, open: boolean) => void;
  focusRow: (to: number) => void;
}

// What the keys do; false: nothing.
function useActs({ tree, rows, view, turn, focusRow, onSelect, onView, onCritical }: Acting) {
  return (key: string, active: number): boolean => {
    const row = rows[active];
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 20, PageUp: -20 }[key];
    if (step !== undefined) focusRow(active + step);
    else if (key === "Home") focusRow(0);
    else if (key === "End") focusRow(rows.length - 1);
    else if (key === "ArrowRight" && row) right(row, active);
    else if (key === "ArrowLeft" && row) left(row, active);
    else if (key === "Enter" && row?.is === "span") onSelect(tree.nodes[row.node]?.span.id);
    else if (key === "Enter" && row && row.is !== "gap") turn(row.key, !row.open);
    else if (key === "Escape") onSelect(undefined);
    else if (key === "+" || key === "=") onView(zoomed(tree, view, 0.5, row));
    else if (key === "-") onView(zoomed(tree, view, 2, row));
    else if (key === "e") nextError(active);
    else if (key === "p") onCritical();
    else return false;
    return true;
  };
  function right(row: Row, at: number) {
    if (row.is === "gap" || row.open === undefined) return;
    if (row.open) focusRow(at + 1);
    else turn(row.key, true);
  }
  function left(row: Row, at: number) {
    if (row.is !== "gap" && row.open) return turn(row.key, false);
    for (let i = at - 1; i >= 0; i--) if ((rows[i] as Row).level < row.level) return focusRow(i);
  }
  function nextError(at: number) {
    const isBad = (row: Row) =>
      row.is === "span"
        ? tree.nodes[row.node]?.span.failed || tree.nodes[row.node]?.span.verdict === "deny"
        : row.is === "group" && row.failed > 0;
    for (let n = 1; n <= rows.length; n++) {
      const i = (at + n) % rows.length;
      if (isBad(rows[i] as Row)) return focusRow(i);
    }
  }
}

// Zooms about the active row's begin; undefined: all is in view again.
function zoomed(tree: Tree, view: View, factor: number, row: Row | undefined): View | undefined {
  const length = Math.min((view.to - view.from) * factor, tree.end - tree.start);
  if (length >= tree.end - tree.start) return undefined;
  const span = row?.is === "span" ? tree.nodes[row.node]?.span : undefined;
  const middle = span ? span.start : (view.from + view.to) / 2;
  const from = Math.max(tree.start, Math.min(tree.end - length, middle - length / 4));
  return { from, to: from + Math.max(length, 0.001) };
}
