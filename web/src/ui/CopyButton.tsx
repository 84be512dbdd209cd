import { Check, Copy } from "lucide-react";
import { type MouseEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { words } from "../words/en";
import { clean } from "./clean";
import "./text.css";

/** copyText copies, also where there is no clipboard (plain HTTP). False: it could not. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const had = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden-text";
    // A dialog keeps the focus within itself: elsewhere nothing would be selected.
    (had?.closest('[role="dialog"]') ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (had instanceof HTMLElement) had.focus({ preventScroll: true });
    return done;
  }
}

interface CopyProps {
  /** The text, or what writes it when it is copied. */
  text: string | (() => string);
  label?: string;
  what?: string;
  onCopied?: () => void;
}

/** CopyButton copies a text and says so. What it stands in does not notice the click. */
export function CopyButton({ text, label, what, onCopied }: CopyProps) {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (event: MouseEvent) => {
    event.stopPropagation();
    if (!(await copyText(typeof text === "string" ? text : text()))) return;
    setCopied(true);
    onCopied?.();
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(false), 2000);
  };
  return (
    <button
      type="button"
      className="copy"
      onClick={copy}
      onKeyDown={(event) => event.stopPropagation()}
      aria-label={label ? undefined : words.ui.copy(what)}
    >
      {copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      {label && <span>{copied ? words.ui.copied : label}</span>}
      <span className="hidden-text" role="status">
        {copied ? words.ui.copied : ""}
      </span>
    </button>
  );
}

interface ChipProps {
  id: string;
  what?: string;
  /** Wraps the shown text, as in a link. */
  within?: (text: ReactNode) => ReactNode;
}

/** IdChip shows an id by its ends, and copies it whole. */
export function IdChip({ id, what, within = (text) => text }: ChipProps) {
  const visible = clean(id, 200);
  const characters = [...visible];
  const short =
    characters.length > 14 ? `${characters.slice(0, 8).join("")}…${characters.slice(-4).join("")}` : visible;
  return (
    <span className="id-chip" title={visible}>
      {within(<bdi>{short}</bdi>)}
      <CopyButton text={id} what={what ?? words.ui.id} />
    </span>
  );
}
