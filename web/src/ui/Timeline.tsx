import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, type ReactNode, useCallback, useLayoutEffect, useMemo, useRef } from "react";
import { words } from "../words/en";
import { day, duration } from "./format";
import { Time } from "./Time";
import { useLoadAhead } from "./table/Table";
import "./timeline.css";

export interface Moment {
  key: string;
  at: string;
  /** Errors and denials are marked on the rail. */
  mark?: "deny" | "error" | undefined;
}

export interface TimelineProps<T extends Moment> {
  label: string;
  moments: T[];
  /** Must be stable: it is called for the moments in view. */
  body: (moment: T) => ReactNode;
  hasMore?: boolean;
  loadMore?: () => void;
  loadingMore?: boolean;
  error?: unknown;
}

const idle = 5 * 60_000;
const fewMoments = 12; // they are seen at once

/** Timeline is what happened, in the order it is given, with days, and gaps in which nothing did. It fills its box. */
export function Timeline<T extends Moment>(props: TimelineProps<T>) {
  const { label, moments, body } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: moments.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 36,
    overscan: 10,
    getItemKey: useCallback((i: number) => moments[i]?.key ?? i, [moments]),
  });
  const seen = virtual.measurementsCache[virtual.range?.endIndex ?? 0]?.end ?? 0;
  useLoadAhead(props, virtual.getTotalSize() - seen);
  const jump = (i: number) => virtual.scrollToIndex(i, { align: "center" });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "e" || event.ctrlKey || event.metaKey || event.altKey) return;
    const from = virtual.range ? Math.floor((virtual.range.startIndex + virtual.range.endIndex) / 2) : 0;
    const next = moments.findIndex((m, i) => i > from && m.mark);
    if (next >= 0) jump(next);
  };
  return (
    <div className="timeline-frame">
      <div
        ref={scroller}
        className="timeline-scroll"
        tabIndex={0}
        role="region"
        aria-label={label}
        onKeyDown={onKeyDown}
      >
        <ol className="timeline" style={{ blockSize: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const moment = moments[item.index] as T;
            return (
              <Row
                key={item.key}
                moment={moment}
                before={moments[item.index - 1]}
                index={item.index}
                of={props.hasMore ? -1 : moments.length}
                start={item.start}
                measure={virtual.measureElement}
                body={body as (moment: Moment) => ReactNode}
              />
            );
          })}
        </ol>
      </div>
      {moments.length > fewMoments && <Rail moments={moments} onJump={jump} />}
    </div>
  );
}

interface RowProps {
  moment: Moment;
  before: Moment | undefined;
  index: number;
  of: number;
  start: number;
  measure: (element: HTMLElement | null) => void;
  body: (moment: Moment) => ReactNode;
}

const Row = memo(function Row({ moment, before, index, of, start, measure, body }: RowProps) {
  const element = useRef<HTMLLIElement>(null);
  useLayoutEffect(() => {
    measure(element.current);
  }, [measure]);
  const at = Date.parse(moment.at);
  const gap = before ? Math.abs(at - Date.parse(before.at)) : 0;
  const newDay = !before || day(Date.parse(before.at)) !== day(at);
  return (
    <li
      ref={element}
      data-index={index}
      aria-setsize={of}
      aria-posinset={index + 1}
      className={`moment${moment.mark ? ` ${moment.mark}` : ""}`}
      style={{ transform: `translateY(${start}px)` }}
    >
      {newDay && <h3 className="timeline-day">{day(at)}</h3>}
      {gap > idle && <p className="small faint timeline-gap">{words.ui.idle(duration(gap))}</p>}
      <div className="moment-row">
        <span className="small faint">
          <Time at={moment.at} form="clock" />
        </span>
        <div className="grow">{body(moment)}</div>
      </div>
    </li>
  );
});

const ticks = 80;

// The rail shows where errors and denials are in all that is loaded.
function Rail({ moments, onJump }: { moments: Moment[]; onJump: (index: number) => void }) {
  const marks = useMemo(() => marksOf(moments), [moments]);
  return (
    <div className="timeline-rail">
      {marks.map(({ tick, index, mark }) => (
        <button
          key={tick}
          type="button"
          tabIndex={-1}
          className={`rail-mark ${mark}`}
          style={{ insetBlockStart: `${(100 * tick) / ticks}%` }}
          aria-label={words.ui.jumpTo(words.ui.marks[mark])}
          onClick={() => onJump(index)}
        />
      ))}
    </div>
  );
}

interface RailMark {
  tick: number;
  index: number;
  mark: "deny" | "error";
}

/** marksOf is at most one mark for each part of the rail: the first, denials before errors. */
export function marksOf(moments: Moment[]): RailMark[] {
  const found = new Map<number, RailMark>();
  moments.forEach(({ mark }, index) => {
    if (!mark) return;
    const tick = Math.floor((index * ticks) / moments.length);
    const there = found.get(tick);
    if (!there || (there.mark === "error" && mark === "deny")) found.set(tick, { tick, index, mark });
  });
  return [...found.values()];
}
