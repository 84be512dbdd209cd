import type { ReactNode } from "react";
import "./chart.css";

export interface Bar {
  key: string;
  label: ReactNode;
  value: number;
  text: string;
  /** What stands behind the number. */
  end?: ReactNode;
}

/** Bars ranks things: HTML, no drawing. */
export function Bars({ bars, label }: { bars: Bar[]; label: string }) {
  const most = Math.max(...bars.map((b) => b.value), 0);
  return (
    <ul className="bars" aria-label={label}>
      {bars.map((b) => (
        <li key={b.key} className="bar">
          <span className="bar-label one-line">{b.label}</span>
          <span className="bar-track" aria-hidden>
            <span className="bar-fill" style={{ inlineSize: `${most > 0 ? (b.value / most) * 100 : 0}%` }} />
          </span>
          <span className="number">{b.text}</span>
          {b.end !== undefined && <span className="bar-end">{b.end}</span>}
        </li>
      ))}
    </ul>
  );
}
