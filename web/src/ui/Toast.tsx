import { X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { words } from "../words/en";
import { Button } from "./Button";
import "./overlay.css";

interface Shown {
  id: number;
  text: string;
  error: boolean;
  act?: { label: string; run: () => void } | undefined;
}

let shown: Shown[] = [];
let nextId = 1;
const watchers = new Set<() => void>();

function set(next: Shown[]) {
  shown = next;
  for (const watcher of watchers) watcher();
}

const remove = (id: number) => set(shown.filter((t) => t.id !== id));

/** toast says something for six seconds; errors stay until they are closed. It gives what closes it. */
export function toast(text: string, options: { error?: boolean; act?: Shown["act"]; life?: number } = {}): () => void {
  const id = nextId++;
  set([...shown.slice(-3), { id, text, error: options.error ?? false, act: options.act }]);
  if (!options.error) setTimeout(() => remove(id), options.life ?? 6000);
  return () => remove(id);
}

const undoTime = 2000;
let pending: { cancel: () => void } | undefined;

/** undoPending takes back what is about to be sent. False: there is nothing. */
export function undoPending(): boolean {
  const undone = pending;
  undone?.cancel();
  return undone !== undefined;
}

/** somethingPending reports whether an act waits for its two seconds. */
export const somethingPending = (): boolean => pending !== undefined;

/** sendSoon waits two seconds in which it can be undone: then it calls undone. Leaving the page does not send. */
export function sendSoon(saying: string, send: () => void, undone: () => void = () => {}): void {
  pending?.cancel();
  const finish = (then?: () => void) => {
    clearTimeout(timer);
    close();
    removeEventListener("pagehide", lose);
    document.removeEventListener("visibilitychange", lose);
    pending = undefined;
    then?.();
  };
  const cancel = () =>
    finish(() => {
      toast(words.ui.notSent);
      undone();
    });
  const lose = () => {
    if (document.visibilityState === "hidden") cancel();
  };
  const close = toast(words.ui.inTwoSeconds(saying), {
    life: undoTime + 500,
    act: { label: words.ui.undo, run: cancel },
  });
  const timer = setTimeout(() => finish(send), undoTime);
  pending = { cancel };
  addEventListener("pagehide", lose);
  document.addEventListener("visibilitychange", lose);
}

/** Toasts is where they appear; the shell has one. */
export function Toasts() {
  const list = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => shown,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {list.map((t) => (
        <div key={t.id} className={`toast${t.error ? " error" : ""}`}>
          <span className="grow">{t.text}</span>
          {t.act && (
            <Button
              onClick={() => {
                t.act?.run();
                remove(t.id);
              }}
            >
              {t.act.label}
            </Button>
          )}
          <Button look="quiet" icon aria-label={words.ui.close} onClick={() => remove(t.id)}>
            <X size={16} aria-hidden />
          </Button>
        </div>
      ))}
    </div>
  );
}
