import { defaultRangeExtractor, type Range, useVirtualizer } from "@tanstack/react-virtual";
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { words } from "../../words/en";
import { count } from "../format";
import { keptPlace } from "../place";
import { ErrorBanner, ErrorPanel, Slow } from "../states";
import { useNarrow } from "../useNarrow";
import { leastWidth } from "./columns";
import { TableSkeleton } from "./TableSkeleton";
import "./table.css";

export interface Column<T> {
  id: string;
  head: string;
  /** A width of CSS grids: "96px", "minmax(120px, 2fr)". */
  width: string;
  number?: boolean;
  /** How lists of columns name one without a head. */
  name?: string;
  /** Cannot be hidden. */
  always?: boolean;
  /** Hidden until it is chosen. */
  extra?: boolean;
  cell: (row: T) => ReactNode;
}

export interface TableProps<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string;
  /** What a row is on a phone. */
  card: (row: T) => ReactNode;
  onOpen?: (row: T) => void;
  /** Said when there are no rows. */
  empty: ReactNode;
  loading: boolean;
  error?: unknown;
  retry?: () => void;
  hasMore?: boolean;
  loadMore?: () => void;
  loadingMore?: boolean;
  /** There is more than is ever loaded. */
  cut?: boolean;
}

const ahead = 600;

/** Table is a long list: only rows in view are in the page, the next ones load ahead. Its order is the API's. */
export function Table<T>(props: TableProps<T>) {
  const { rows, loading, error, retry } = props;
  if (rows.length === 0 && error) return <ErrorPanel error={error} {...(retry ? { retry } : {})} />;
  if (rows.length === 0 && loading)
    return (
      <>
        <Slow />
        <TableSkeleton columns={props.columns} label={props.label} />
      </>
    );
  if (rows.length === 0) return <>{props.empty}</>;
  return (
    <>
      {error !== undefined && error !== null && <ErrorBanner error={error} {...(retry ? { retry } : {})} />}
      <Rows {...props} />
    </>
  );
}

function Rows<T>(props: TableProps<T>) {
  const { label, columns, rows, rowKey, card, onOpen, hasMore } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const narrow = useNarrow();
  const rowHeight = useRowHeight();
  // Who comes back from a row stands at it again.
  const [{ came, keep }] = useState(() => keptPlace(label));
  const [wanted, setActive] = useState(came?.row ?? 0);
  const active = Math.min(wanted, rows.length - 1);
  const focusing = useRef(came?.row === undefined ? -1 : active);
  const keyOf = useRef(rowKey);
  keyOf.current = rowKey;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (narrow ? 88 : rowHeight),
    initialOffset: came?.offset ?? 0,
    onChange: ({ scrollOffset }) => keep({ offset: scrollOffset ?? 0 }),
    overscan: 12,
    getItemKey: useCallback((i: number) => keyOf.current(rows[i] as T), [rows]),
    // The head covers the first row; the active row stays, for the focus is on it.
    scrollPaddingStart: narrow ? 0 : rowHeight,
    rangeExtractor: useCallback((range: Range) => withActive(range, active), [active]),
  });
  const items = virtual.getVirtualItems();
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows have another height on a phone
  useLayoutEffect(() => {
    virtual.measure();
  }, [narrow]);
  const seen = virtual.measurementsCache[virtual.range?.endIndex ?? 0]?.end ?? 0;
  useLoadAhead(props, virtual.getTotalSize() - seen);

  const openRow = useCallback(
    (row: T, i: number) => {
      setActive(i);
      keep({ offset: scroller.current?.scrollTop ?? 0, row: i });
      onOpen?.(row);
    },
    [keep, onOpen],
  );
  const focusRow = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    focusing.current = next;
    setActive(next);
    virtual.scrollToIndex(next);
    if (next === active) scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 10, PageUp: -10 }[event.key];
    const row = rows[active];
    if (step !== undefined) focusRow(active + step);
    else if (event.key === "Home") focusRow(0);
    else if (event.key === "End") focusRow(rows.length - 1);
    else if (event.key === "Enter" && row && (event.target as HTMLElement).getAttribute("role") === "row")
      openRow(row, active);
    else return;
    event.preventDefault();
  };
  const template = columns.map((c) => c.width).join(" ");
  const least = { minInlineSize: narrow ? undefined : leastWidth(columns) };
  return (
    <div className="table-frame">
      <div
        ref={scroller}
        className={narrow ? "table-scroll cards" : "table-scroll"}
        role="table"
        aria-label={label}
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        onKeyDown={onKeyDown}
      >
        <div role="rowgroup" className={narrow ? "hidden-text" : "table-head"} style={least}>
          <div role="row" className="table-row" style={{ gridTemplateColumns: template }}>
            {columns.map((c) => (
              <div key={c.id} role="columnheader" className={classOf(c)}>
                {c.head || <span className="hidden-text">{c.name}</span>}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="table-body" style={{ ...least, blockSize: virtual.getTotalSize() }}>
          {items.map((item) => (
            <TableRow
              key={item.key}
              row={rows[item.index] as T}
              index={item.index}
              start={item.start}
              columns={columns}
              template={template}
              card={narrow ? card : undefined}
              measure={narrow ? virtual.measureElement : undefined}
              active={item.index === active}
              focusing={focusing}
              {...(onOpen ? { onClick: openRow } : {})}
            />
          ))}
        </div>
      </div>
      <Foot {...props} />
    </div>
  );
}

const classOf = <T,>({ id, number }: Column<T>) =>
  ["one-line", number && "number", id === "act" && "act"].filter(Boolean).join(" ");

// A row that is far away from the others in view is kept as well.
function withActive(range: Range, active: number): number[] {
  const shown = defaultRangeExtractor(range);
  if (active < 0 || active >= range.count || shown.includes(active)) return shown;
  return [...shown, active].sort((a, b) => a - b);
}

interface More {
  hasMore?: boolean;
  loadMore?: () => void;
  loadingMore?: boolean;
  error?: unknown;
}

/** useLoadAhead asks for the next page near the end. One that failed is not asked for again: the banner's button does it. */
export function useLoadAhead({ hasMore, loadingMore, loadMore, error }: More, left: number) {
  const load = useRef(loadMore);
  load.current = loadMore;
  const failed = error !== undefined && error !== null;
  const wanted = hasMore && !loadingMore && !failed && left < ahead;
  useEffect(() => {
    if (wanted) load.current?.();
  }, [wanted]);
}

function Foot<T>({ rows, hasMore, cut }: TableProps<T>) {
  const n = rows.length;
  return (
    <p className="table-foot small faint" role="status">
      {cut ? words.ui.loadedCut(count(n)) : hasMore ? words.ui.loadedMore(count(n)) : words.ui.loadedAll(n)}
    </p>
  );
}

interface RowProps<T> {
  row: T;
  index: number;
  start: number;
  columns: Column<T>[];
  template: string;
  card: ((row: T) => ReactNode) | undefined;
  measure: ((element: HTMLElement | null) => void) | undefined;
  active: boolean;
  /** The row that takes the focus when it comes. */
  focusing: RefObject<number>;
  onClick?: (row: T, index: number) => void;
}

const TableRow = memo(function TableRow<T>({
  row,
  index,
  start,
  columns,
  template,
  card,
  measure,
  active,
  focusing,
  onClick,
}: RowProps<T>) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    measure?.(element.current);
  }, [measure]);
  useEffect(() => {
    // One tab stop: what is in other rows is reached from its own row.
    for (const inside of element.current?.querySelectorAll<HTMLElement>("a, button") ?? [])
      inside.tabIndex = active ? 0 : -1;
    if (!active || focusing.current !== index) return;
    focusing.current = -1;
    element.current?.focus({ preventScroll: true });
  });
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the table takes the keys of its rows
    <div
      ref={element}
      role="row"
      tabIndex={active ? 0 : -1}
      data-index={index}
      aria-rowindex={index + 2}
      className={`table-row data${onClick ? " opens" : ""}`}
      style={{ transform: `translateY(${start}px)`, ...(card ? {} : { gridTemplateColumns: template }) }}
      onClick={(event) => {
        // What is in a cell does its own thing, and selecting text opens nothing.
        const inside = (event.target as HTMLElement).closest("a, button, input");
        if (!inside && !getSelection()?.toString()) onClick?.(row, index);
      }}
    >
      {card ? (
        <div role="cell">{card(row)}</div>
      ) : (
        columns.map((c) => (
          <div key={c.id} role="cell" className={classOf(c)}>
            {c.cell(row)}
          </div>
        ))
      )}
    </div>
  );
}) as <T>(props: RowProps<T>) => ReactNode;

function useRowHeight(): number {
  const [height] = useState(
    () => Number.parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10) || 32,
  );
  return height;
}
