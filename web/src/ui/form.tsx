import { type FormEvent, type ReactNode, type TextareaHTMLAttributes, useId, useState } from "react";
import { ApiError } from "../api/errors";
import { words } from "../words/en";
import { Button } from "./Button";
import { copyText } from "./CopyButton";
import { explain } from "./states";
import "./form.css";

/** fieldOf is what the server says about one field of a form. */
export function fieldOf(error: unknown, name: string): string | undefined {
  return error instanceof ApiError ? error.field(name) : undefined;
}

/** Problem says why a form was not taken, unless its fields say so. */
export function Problem({ error, fields = [] }: { error: unknown; fields?: string[] }) {
  if (!error || fields.some((name) => fieldOf(error, name))) return null;
  const { title, help } = explain(error, true);
  return (
    <p role="alert" className="wrong-text">
      {title} {help}
    </p>
  );
}

interface FormProps {
  onSubmit: () => void;
  children: ReactNode;
}

/** Form is what is filled in and sent. */
export function Form({ onSubmit, children }: FormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form className="stack" onSubmit={submit}>
      {children}
    </form>
  );
}

interface CheckProps {
  label: ReactNode;
  hint?: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  /** Why it cannot be changed. */
  refused?: string | undefined;
}

/** Check is a box to tick, with what it means. */
export function Check({ label, hint, checked, onChange, refused }: CheckProps) {
  const id = useId();
  const note = refused ?? hint;
  return (
    <div className="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={refused !== undefined}
        aria-describedby={note ? `${id}-note` : undefined}
        onChange={(e) => onChange(e.target.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {note && (
          <p id={`${id}-note`} className="small faint">
            {note}
          </p>
        )}
      </div>
    </div>
  );
}

interface AreaProps extends TextareaHTMLAttributes<HTMLTextAreaElement> {
  label: string;
  hint?: ReactNode;
  wrong?: string | undefined;
  /** Whether every character takes the same room. */
  mono?: boolean;
}

/** Area is a field of several lines. */
export function Area({ label, hint, wrong, mono, ...rest }: AreaProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        {...rest}
        id={id}
        className={mono ? "input mono" : "input"}
        aria-invalid={wrong ? true : undefined}
        aria-describedby={wrong || hint ? `${id}-note` : undefined}
      />
      {(wrong || hint) && (
        <span id={`${id}-note`} className={wrong ? "wrong" : "hint"}>
          {wrong ?? hint}
        </span>
      )}
    </div>
  );
}

/** SecretOnce shows a secret that nobody shows again. Whoever closes it without a copy is told so first. */
export function SecretOnce({ secret, onDone }: { secret: string; onDone: () => void }) {
  const [copied, setCopied] = useState(false);
  const [warned, setWarned] = useState(false);
  const copy = async () => setCopied(await copyText(secret));
  return (
    <div className="stack">
      <p>{words.ui.secretOnce}</p>
      <code className="secret" tabIndex={0}>
        {secret}
      </code>
      {warned && !copied && (
        <p role="alert" className="wrong-text">
          {words.ui.notCopied}
        </p>
      )}
      <div className="row end">
        <Button onClick={() => (copied || warned ? onDone() : setWarned(true))}>
          {warned && !copied ? words.ui.closeUncopied : words.ui.close}
        </Button>
        <Button look="primary" autoFocus onClick={() => void copy()}>
          {copied ? words.ui.copied : words.ui.copyJson}
        </Button>
      </div>
    </div>
  );
}
