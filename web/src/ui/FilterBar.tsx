import { Plus, X } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { words } from "../words/en";
import { AgentText } from "./AgentText";
import { Button } from "./Button";
import { Popover } from "./Menu";
import "./table/table.css";

/** Filter is one thing a list can be narrowed by. */
export interface Filter {
  name: string;
  label: string;
  /** The values to choose from; none: any text. */
  values?: readonly (readonly [string, string])[];
  /** Whether several values may be chosen. */
  several?: boolean;
}

export type Filtered = Record<string, string | string[] | undefined>;

interface FilterBarProps {
  filters: Filter[];
  value: Filtered;
  onChange: (change: Filtered) => void;
  children?: ReactNode;
}

const listOf = (v: string | string[] | undefined) => (v === undefined ? [] : Array.isArray(v) ? v : [v]);

/** FilterBar shows what a list is narrowed by, as chips that can be taken away. */
export function FilterBar({ filters, value, onChange, children }: FilterBarProps) {
  const set = filters.filter((f) => listOf(value[f.name]).length > 0);
  const clear = () => onChange(Object.fromEntries(filters.map((f) => [f.name, undefined])));
  return (
    <div className="filter-bar">
      {set.map((f) => (
        <span key={f.name} className="chip">
          <span className="one-line">
            {words.ui.filterIs(f.label)} <Values filter={f} values={listOf(value[f.name])} />
          </span>
          <button
            type="button"
            aria-label={words.ui.removeFilter(f.label)}
            onClick={() => onChange({ [f.name]: undefined })}
          >
            <X size={14} aria-hidden />
          </button>
        </span>
      ))}
      <AddFilter filters={filters} value={value} onChange={onChange} />
      {set.length > 0 && (
        <Button look="quiet" onClick={clear}>
          {words.ui.clear}
        </Button>
      )}
      {children}
    </div>
  );
}

function Values({ filter, values }: { filter: Filter; values: string[] }) {
  const names = values.map((v) => filter.values?.find(([known]) => known === v)?.[1] ?? v);
  return names.map((name, i) => (
    <span key={name}>
      {i > 0 && ", "}
      <AgentText text={name} short />
    </span>
  ));
}

function AddFilter({ filters, value, onChange }: Omit<FilterBarProps, "children">) {
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState<Filter>();
  const change = (next: boolean) => {
    setOpen(next);
    setChosen(filters.length === 1 ? filters[0] : undefined);
  };
  return (
    <Popover
      label={words.ui.addFilter}
      open={open}
      onOpenChange={change}
      button={
        <Button data-filter-button>
          <Plus size={14} aria-hidden />
          {words.ui.addFilter}
        </Button>
      }
    >
      {!chosen &&
        filters.map((f) => (
          <button key={f.name} type="button" className="menu-item" onClick={() => setChosen(f)}>
            {f.label}
          </button>
        ))}
      {chosen?.values && (
        <ChooseValues
          filter={chosen}
          values={listOf(value[chosen.name])}
          onChange={(values) => {
            onChange({ [chosen.name]: values.length === 0 ? undefined : chosen.several ? values : values[0] });
            if (!chosen.several) setOpen(false);
          }}
        />
      )}
      {chosen && !chosen.values && (
        <TypeValue
          filter={chosen}
          value={listOf(value[chosen.name])[0] ?? ""}
          onChange={(text) => {
            onChange({ [chosen.name]: text || undefined });
            setOpen(false);
          }}
        />
      )}
    </Popover>
  );
}

interface ChooseProps {
  filter: Filter;
  values: string[];
  onChange: (values: string[]) => void;
}

function ChooseValues({ filter, values, onChange }: ChooseProps) {
  return (
    <fieldset className="choices">
      <legend className="menu-label">{filter.label}</legend>
      {filter.values?.map(([value, name]) => (
        <label key={value} className="menu-item">
          <input
            type={filter.several ? "checkbox" : "radio"}
            name={filter.name}
            checked={values.includes(value)}
            onChange={(e) => {
              const others = filter.several ? values.filter((v) => v !== value) : [];
              onChange(e.target.checked ? [...others, value] : others);
            }}
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

function TypeValue({ filter, value, onChange }: { filter: Filter; value: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(value);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(text.trim());
  };
  return (
    <form className="row" onSubmit={submit}>
      <input
        className="input"
        aria-label={filter.label}
        placeholder={filter.label}
        value={text}
        maxLength={200}
        onChange={(e) => setText(e.target.value)}
      />
      <Button type="submit" look="primary">
        {words.ui.apply}
      </Button>
    </form>
  );
}
