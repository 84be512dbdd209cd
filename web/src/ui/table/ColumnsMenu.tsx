import { Columns3 } from "lucide-react";
import { words } from "../../words/en";
import { Button } from "../Button";
import { Popover } from "../Menu";
import { chosenColumns, widthOf, writeColumns } from "./columns";
import type { Column } from "./Table";

interface Props<T> {
  columns: readonly Column<T>[];
  /** As it stands in the address. */
  cols: readonly string[] | undefined;
  onChange: (cols: string[] | undefined) => void;
}

const step = 20;

/** ColumnsMenu chooses and sizes the columns of a table. */
export function ColumnsMenu<T>({ columns, cols, onChange }: Props<T>) {
  const shown = chosenColumns(columns, cols).map((c) => c.id);
  const widths = new Map(columns.flatMap((c) => entry(c.id, widthOf(cols, c.id))));
  const show = (id: string, on: boolean) => {
    if (!on) widths.delete(id);
    onChange(writeColumns(columns, on ? [...shown, id] : shown.filter((s) => s !== id), widths));
  };
  const size = (id: string, text: string) => {
    widths.delete(id);
    if (Number(text) > 0) widths.set(id, Math.min(1200, Math.max(60, Math.round(Number(text)))));
    onChange(writeColumns(columns, shown, widths));
  };
  return (
    <Popover
      label={words.ui.columns}
      button={
        <Button>
          <Columns3 size={14} aria-hidden />
          {words.ui.columns}
        </Button>
      }
    >
      <ul className="columns-menu">
        {columns.map((c) => (
          <li key={c.id} className="row">
            <label className="menu-item grow">
              <input
                type="checkbox"
                checked={shown.includes(c.id)}
                disabled={c.always}
                onChange={(e) => show(c.id, e.target.checked)}
              />
              {c.head || c.name || c.id}
            </label>
            <input
              className="input"
              type="number"
              min={60}
              max={1200}
              step={step}
              placeholder={words.ui.auto}
              aria-label={words.ui.widthOf(c.head || c.name || c.id)}
              disabled={!shown.includes(c.id)}
              value={widths.get(c.id) ?? ""}
              onChange={(e) => size(c.id, e.target.value)}
            />
          </li>
        ))}
      </ul>
      <Button look="quiet" onClick={() => onChange(undefined)}>
        {words.ui.usualColumns}
      </Button>
    </Popover>
  );
}

const entry = (id: string, width: number | undefined): [string, number][] => (width === undefined ? [] : [[id, width]]);
