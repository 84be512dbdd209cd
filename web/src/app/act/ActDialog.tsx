import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { statusOf } from "../../api/errors";
import { Button, Field } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { clock } from "../../ui/format";
import { explain, Slow } from "../../ui/states";
import { useOnline } from "../../ui/useOnline";
import { acts as w } from "../../words/acts";
import { words } from "../../words/en";
import { mayRun, type Once, useOnce } from "./useOnce";
import "./act.css";

interface ActProps<T> {
  title: string;
  /** Its title once the server has done it. */
  doneTitle?: string;
  act: string;
  danger?: boolean;
  wide?: boolean;
  /** What must be typed first, where an act reaches far. */
  type?: string | undefined;
  /** Why it cannot be sent yet. */
  missing?: string | undefined;
  send: () => Promise<T>;
  /** Reads whether it was done; undefined: it was not. */
  look: () => Promise<T | undefined>;
  onSettled: () => unknown;
  onClose: () => void;
  /** What is filled in. */
  children: ReactNode;
  /** What is said once the server has done it. */
  done: (result: T) => ReactNode;
}

/** ActDialog does what reaches far: it looks done once the server has said so, and is sent once. */
export function ActDialog<T>(props: ActProps<T>) {
  const { title, doneTitle = title, wide, onClose } = props;
  const once = useOnce<T>(props);
  const { state } = once;
  // What is on its way cannot be closed away.
  const close = () => state.is !== "sending" && state.is !== "looking" && onClose();
  return (
    <Dialog open onClose={close} title={state.is === "done" ? doneTitle : title} {...(wide ? { wide } : {})}>
      {state.is === "done" ? (
        <Finished found={state.found} onClose={onClose}>
          {props.done(state.result)}
        </Finished>
      ) : (
        <Asked {...props} once={once} onClose={close} />
      )}
    </Dialog>
  );
}

function Finished({ found, onClose, children }: { found: boolean; onClose: () => void; children: ReactNode }) {
  return (
    <>
      <div className="stack tight" role="status">
        {found && <p className="muted">{w.found}</p>}
        {children}
      </div>
      <div className="row end">
        <Button look="primary" autoFocus onClick={onClose}>
          {words.ui.close}
        </Button>
      </div>
    </>
  );
}

function Asked<T>(props: ActProps<T> & { once: ReturnType<typeof useOnce<T>> }) {
  const { act, danger, type, missing, onClose, children, once } = props;
  const { state } = once;
  const [typed, setTyped] = useState("");
  const online = useOnline();
  const why = missing ?? (type !== undefined && typed !== type ? words.ui.typeFirst(type) : undefined);
  const refused = online ? why : words.shell.offlineRefused;
  const conflicts = state.is === "failed" && !mayRun(state);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (refused === undefined) void once.run();
  };
  const open = state.is === "unknown" || state.is === "looking";
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // The fields were off, and the focus with them.
    if (state.is === "failed" || state.is === "absent") button.current?.focus();
  }, [state.is]);
  return (
    <form className="stack" onSubmit={submit}>
      {/* What was sent stays as it was until it is known what became of it. */}
      <fieldset className="act-fields stack" disabled={open || state.is === "sending"}>
        {children}
        {type !== undefined && (
          <Field
            label={words.ui.typeToConfirm(type)}
            value={typed}
            onChange={(e) => setTyped(e.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        )}
      </fieldset>
      <Trouble state={state} />
      <div className="row end wrap">
        <Button onClick={onClose}>{words.ui.cancel}</Button>
        {open ? (
          <Button look="primary" autoFocus busy={state.is === "looking"} onClick={() => void once.ask()}>
            {state.is === "looking" ? w.asking : w.ask}
          </Button>
        ) : (
          <Button
            ref={button}
            type="submit"
            look={danger ? "danger" : "primary"}
            busy={state.is === "sending"}
            refused={conflicts ? w.lookAgain : refused}
          >
            {state.is === "sending" ? w.sending : act}
          </Button>
        )}
      </div>
    </form>
  );
}

function Trouble({ state }: { state: Once<unknown> }) {
  if (state.is === "sending" || state.is === "looking") return <Slow />;
  if (state.is === "absent") return <p role="status">{w.absent(clock(state.at))}</p>;
  const text = troubleOf(state);
  return text ? (
    <p role="alert" className="wrong-text">
      {text}
    </p>
  ) : null;
}

function troubleOf(state: Once<unknown>): string | undefined {
  if (state.is === "unknown") return w.unknown;
  if (state.is !== "failed") return undefined;
  const { title, help } = explain(state.error, true);
  // A conflict has its reason; that nothing was done is all there is to add.
  return statusOf(state.error) === 409 ? help : `${title} ${help}`;
}

/** ReasonField asks why. */
export function ReasonField({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  return (
    <Field
      label={w.reason}
      hint={w.reasonHint}
      required
      maxLength={500}
      value={value}
      autoComplete="off"
      onChange={(e) => onChange(e.target.value)}
    />
  );
}

/** reasonMissing is why an act without a reason cannot be sent. */
export const reasonMissing = (reason: string) => (reason.trim() === "" ? w.reasonFirst : undefined);
