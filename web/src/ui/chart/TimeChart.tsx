import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { words } from "../../words/en";
import { Button } from "../Button";
import { clean } from "../clean";
import { absolute, count } from "../format";
import { Skeleton } from "../states";
import { useShownTheme } from "../theme";
import { type Lane, widthOf } from "./lanes";
import type { Plot } from "./plot";
import "./chart.css";

interface TimeChartProps {
  lane: Lane;
  /** The sum of what is drawn. */
  total?: string;
  /** When each bucket begins, in seconds. */
  buckets: number[];
  unfinished?: boolean;
  height?: number;
  format?: (n: number) => string;
  /** What was chosen by dragging, a click, or Enter, in seconds. */
  onSelect?: (from: number, until: number) => void;
}

/** TimeChart draws quantities over time, and can be read with the keyboard and as a table. */
export function TimeChart({
  lane,
  total,
  buckets,
  unfinished = false,
  height = 120,
  format = count,
  onSelect,
}: TimeChartProps) {
  const [asTable, setAsTable] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  return (
    <figure className="chart">
      <figcaption className="chart-head">
        <span className="small muted chart-name">
          {lane.name} {total && <strong>{total}</strong>}
        </span>
        <Legend lane={lane} at={at} format={format} />
        <Button look="quiet" className="small" onClick={() => setAsTable(!asTable)} aria-pressed={asTable}>
          {words.ui.asTable}
        </Button>
      </figcaption>
      {asTable ? (
        <ChartTable lane={lane} buckets={buckets} format={format} />
      ) : (
        <Drawing {...{ lane, buckets, unfinished, height, format, onSelect, at, setAt }} />
      )}
    </figure>
  );
}

// NaN: nothing is known of that time.
const shown = (value: number | undefined, format: (n: number) => string) =>
  Number.isNaN(value) ? words.ui.unknown : format(value ?? 0);

function Legend({ lane, at, format }: { lane: Lane; at: number | null; format: (n: number) => string }) {
  return (
    <span className={lane.series.length > 3 ? "row wrap small chart-keys many" : "row wrap small chart-keys"}>
      {lane.series.map((s) => (
        <span key={s.name} className="row chart-key">
          <span className="chart-swatch" style={{ background: `var(--${s.color})` }} aria-hidden />
          <span className="one-line">{clean(s.name, 40)}</span>
          {at !== null && <strong>{shown(s.values[at], format)}</strong>}
        </span>
      ))}
    </span>
  );
}

interface DrawingProps extends Required<Omit<TimeChartProps, "onSelect" | "total">> {
  onSelect: TimeChartProps["onSelect"];
  at: number | null;
  setAt: (at: number | null) => void;
}

function Drawing({ lane, buckets, unfinished, height, format, onSelect, at, setAt }: DrawingProps) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  const theme = useShownTheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a theme changes the colours that were read
  useEffect(() => {
    const target = element.current;
    if (!target) return;
    let over = false;
    void import("./plot").then(({ draw }) => {
      if (over) return;
      target.replaceChildren();
      plot.current = draw(target, { lane, buckets, unfinished, height, format, onSelect, onHover: setAt });
    });
    const observer = new ResizeObserver(([entry]) => entry && plot.current?.resize(entry.contentRect.width));
    observer.observe(target);
    return () => {
      over = true;
      observer.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [lane, buckets, unfinished, height, format, onSelect, setAt, theme]);
  const onKeyDown = (event: KeyboardEvent) => {
    const begin = at === null ? undefined : buckets[at];
    if (event.key === "Enter" && begin !== undefined && onSelect) {
      event.preventDefault();
      onSelect(begin, begin + widthOf(buckets));
      return;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(buckets.length - 1, (at ?? buckets.length) + step));
    setAt(next);
    plot.current?.hover(next);
  };
  return (
    <div
      className="chart-body"
      role="group"
      aria-label={words.ui.chartHelp(lane.name, onSelect !== undefined)}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div ref={element} style={{ blockSize: height }} aria-hidden>
        <Skeleton height={height} />
      </div>
      <p className="hidden-text" role="status">
        {at !== null && buckets[at] !== undefined && saying(lane, buckets[at], at, format)}
      </p>
      {at !== null && buckets[at] !== undefined && (
        <p className="small faint chart-at">{absolute(buckets[at] * 1000)}</p>
      )}
    </div>
  );
}

function saying(lane: Lane, bucket: number, at: number, format: (n: number) => string): string {
  const values = lane.series.map((s) => `${clean(s.name, 40)} ${shown(s.values[at], format)}`);
  return `${absolute(bucket * 1000)}: ${values.join(", ")}`;
}

function ChartTable({ lane, buckets, format }: { lane: Lane; buckets: number[]; format: (n: number) => string }) {
  return (
    <div className="chart-table" tabIndex={0} role="region" aria-label={lane.name}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.ui.time}</th>
            {lane.series.map((s) => (
              <th key={s.name} scope="col" className="number">
                {clean(s.name, 40)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {buckets.map((bucket, i) => (
            <tr key={bucket}>
              <th scope="row">{absolute(bucket * 1000)}</th>
              {lane.series.map((s) => (
                <td key={s.name} className="number">
                  {shown(s.values[i], format)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
