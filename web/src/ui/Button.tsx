import { type ButtonHTMLAttributes, type InputHTMLAttributes, type ReactNode, type Ref, useId } from "react";
import "./button.css";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "primary" | "danger" | "quiet";
  icon?: boolean;
  /** Why it cannot be used; shown, and the button does nothing. */
  refused?: string | undefined;
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

/** Button does one thing. Without the right it stays visible and says why. */
export function Button({ look, icon, refused, busy, className, onClick, children, title, ...rest }: ButtonProps) {
  const off = refused !== undefined || busy;
  const why = useId();
  return (
    <button
      type="button"
      aria-describedby={refused === undefined ? undefined : why}
      {...rest}
      className={["button", look, icon && "icon", className].filter(Boolean).join(" ")}
      aria-disabled={off || undefined}
      aria-busy={busy || undefined}
      title={refused ?? title}
      onClick={off ? (event) => event.preventDefault() : onClick}
    >
      {children}
      {refused !== undefined && (
        <span id={why} className="refused-why" aria-hidden>
          {refused}
        </span>
      )}
    </button>
  );
}

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  label: string;
  hint?: ReactNode;
  wrong?: string | undefined;
  ref?: Ref<HTMLInputElement>;
}

/** Field is an input with its label, and what is wrong with it. */
export function Field({ label, hint, wrong, ...rest }: FieldProps) {
  const id = useId();
  const notes = `${id}-notes`;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        {...rest}
        id={id}
        className="input"
        aria-invalid={wrong ? true : undefined}
        aria-describedby={wrong || hint ? notes : undefined}
      />
      {(wrong || hint) && (
        <span id={notes} className={wrong ? "wrong" : "hint"}>
          {wrong ?? hint}
        </span>
      )}
    </div>
  );
}

interface ChoiceProps<V extends string> {
  label: string;
  hideLabel?: boolean;
  value: V;
  options: readonly (readonly [V, string])[];
  onChange: (value: V) => void;
  /** Why the person may not choose. */
  refused?: string | undefined;
}

/** Choice is the browser's own list to choose from. */
export function Choice<V extends string>({ label, hideLabel, value, options, onChange, refused }: ChoiceProps<V>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id} className={hideLabel ? "hidden-text" : undefined}>
        {label}
      </label>
      <select
        id={id}
        className="select"
        value={value}
        disabled={refused !== undefined}
        title={refused}
        onChange={(e) => onChange(e.target.value as V)}
      >
        {options.map(([v, name]) => (
          <option key={v} value={v}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
