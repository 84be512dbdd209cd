import { Dialog as Radix } from "radix-ui";
import { type FormEvent, type ReactNode, useState } from "react";
import { words } from "../words/en";
import { Button, Field } from "./Button";
import { useGiveBack } from "./giveBack";
import { explain } from "./states";
import "./overlay.css";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  wide?: boolean;
  children: ReactNode;
  /** What gets the focus; else the first control. */
  onOpenAutoFocus?: (event: Event) => void;
}

/** Dialog asks or shows something above the page, and gives the focus back. */
export function Dialog({ open, onClose, title, wide, children, onOpenAutoFocus }: DialogProps) {
  const giveBack = useGiveBack(open);
  return (
    <Radix.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="scrim" />
        <Radix.Content
          className={`dialog stack${wide ? " wide" : ""}`}
          aria-describedby={undefined}
          {...giveBack}
          {...(onOpenAutoFocus ? { onOpenAutoFocus } : {})}
        >
          <Radix.Title className="dialog-title">{title}</Radix.Title>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  children?: ReactNode;
  act: string;
  danger?: boolean;
  /** What must be typed first, where an act reaches far. */
  type?: string;
  /** Whether the owner closes it, because something follows. */
  keepOpen?: boolean;
  /** Runs the act; a failure is shown, and the dialog stays. */
  onConfirm: () => Promise<unknown>;
}

/** ConfirmDialog asks before an act that cannot be undone. */
export function ConfirmDialog(props: ConfirmProps) {
  const { open, onClose, title, children, act, danger, type, keepOpen, onConfirm } = props;
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const ready = type === undefined || typed === type;
  const close = () => {
    setTyped("");
    setError(undefined);
    onClose();
  };
  const confirm = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready || busy) return;
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm();
      if (!keepOpen) close();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open={open} onClose={close} title={title}>
      <form className="stack" onSubmit={confirm}>
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
        {error !== undefined && (
          <p role="alert" className="wrong">
            {explain(error, true).title} {explain(error, true).help}
          </p>
        )}
        <div className="row end">
          <Button onClick={close}>{words.ui.cancel}</Button>
          <Button
            type="submit"
            look={danger ? "danger" : "primary"}
            busy={busy}
            refused={ready ? undefined : words.ui.typeFirst(type ?? "")}
          >
            {act}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
