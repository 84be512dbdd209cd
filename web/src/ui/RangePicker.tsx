import { Clock } from "lucide-react";
import { type FormEvent, useState } from "react";
import { words } from "../words/en";
import { Button, Field } from "./Button";
import { absolute, zone } from "./format";
import { Popover } from "./Menu";
import { type Preset, parseMoment, presets, type RangeSearch } from "./range";

interface RangeProps {
  value: RangeSearch;
  /** What counts when nothing is chosen; without it, all time. */
  fallback?: Preset;
  onChange: (range: RangeSearch) => void;
}

/** RangePicker chooses a span of time: one of a few, or from and to. */
export function RangePicker({ value, fallback, onChange }: RangeProps) {
  const [open, setOpen] = useState(false);
  const choose = (range: RangeSearch) => {
    onChange({ range: undefined, from: undefined, to: undefined, ...range });
    setOpen(false);
  };
  return (
    <Popover
      label={words.ui.range}
      open={open}
      onOpenChange={setOpen}
      button={
        <Button data-range-button>
          <Clock size={14} aria-hidden />
          {nameOf(value, fallback)}
        </Button>
      }
    >
      {fallback === undefined && (
        <button
          type="button"
          className="menu-item"
          aria-pressed={!value.from && !value.range}
          onClick={() => choose({})}
        >
          {words.ui.allTime}
        </button>
      )}
      {presets.map((preset) => (
        <button
          key={preset}
          type="button"
          className="menu-item"
          aria-pressed={!value.from && (value.range ?? fallback) === preset}
          onClick={() => choose(preset === fallback ? {} : { range: preset })}
        >
          {words.ranges[preset]}
        </button>
      ))}
      <Exactly value={value} onChange={choose} />
    </Popover>
  );
}

function nameOf(value: RangeSearch, fallback: Preset | undefined): string {
  const preset = value.range ?? fallback;
  if (!value.from) return preset ? words.ranges[preset] : words.ui.allTime;
  return words.ui.between(absolute(Date.parse(value.from)), value.to ? absolute(Date.parse(value.to)) : words.ui.now);
}

function Exactly({ value, onChange }: { value: RangeSearch; onChange: (range: RangeSearch) => void }) {
  const [from, setFrom] = useState(value.from ?? "");
  const [to, setTo] = useState(value.to ?? "");
  const [wrong, setWrong] = useState<string>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const now = Date.now();
    const begin = parseMoment(from, now);
    const end = to.trim() === "" ? undefined : parseMoment(to, now);
    if (begin === undefined || (to.trim() !== "" && end === undefined) || (end ?? now) <= begin) {
      setWrong(words.ui.rangeWrong);
      return;
    }
    onChange({ from: new Date(begin).toISOString(), ...(end ? { to: new Date(end).toISOString() } : {}) });
  };
  return (
    <form className="stack tight" onSubmit={submit}>
      <Field
        label={words.ui.from}
        placeholder="-2h"
        value={from}
        onChange={(e) => setFrom(e.target.value)}
        wrong={wrong}
      />
      <Field
        label={words.ui.to}
        placeholder={words.ui.now}
        value={to}
        onChange={(e) => setTo(e.target.value)}
        hint={words.ui.zone(zone())}
      />
      <Button type="submit">{words.ui.apply}</Button>
    </form>
  );
}
