// An act that is sent once. Where no answer came, nobody knows whether it was done: what is true is read before it can
// be sent again.
import { useRef, useState } from "react";
import { statusOf } from "../../api/errors";

export type Once<T> =
  | { is: "ready" | "sending" | "looking" }
  /** No answer came. */
  | { is: "unknown" }
  /** The server was asked, and has not done it. */
  | { is: "absent"; at: number }
  /** The server refused it: nothing was changed. */
  | { is: "failed"; error: unknown }
  /** found: by asking, not by its own answer. */
  | { is: "done"; result: T; found: boolean };

/** leavesOpen reports whether a failure leaves open if something was done: no answer, half of one, or a server's fault. */
export function leavesOpen(error: unknown): boolean {
  const status = statusOf(error);
  return status <= 0 || status >= 500;
}

/** mayRun reports whether something may be sent now. What conflicts must be looked at again first. */
export const mayRun = (state: Once<unknown>) =>
  state.is === "ready" || state.is === "absent" || (state.is === "failed" && statusOf(state.error) !== 409);

interface Sends<T> {
  send: () => Promise<T>;
  /** Reads whether it was done; undefined: it was not. */
  look: () => Promise<T | undefined>;
  /** After every answer: what is shown may be of before. */
  onSettled: () => unknown;
}

/** useOnce sends an act once. */
export function useOnce<T>({ send, look, onSettled }: Sends<T>) {
  const [state, setState] = useState<Once<T>>({ is: "ready" });
  // A second click comes before the first is rendered.
  const busy = useRef(false);
  // What is asked for is what was sent, whatever the form says since.
  const asked = useRef(look);
  const guarded = async (is: "sending" | "looking", act: () => Promise<Once<T>>) => {
    if (busy.current) return;
    busy.current = true;
    setState({ is });
    const next = await act();
    busy.current = false;
    setState(next);
    onSettled();
  };
  const sent = async (): Promise<Once<T>> => {
    asked.current = look;
    try {
      return { is: "done", result: await send(), found: false };
    } catch (error) {
      return leavesOpen(error) ? { is: "unknown" } : { is: "failed", error };
    }
  };
  const looked = async (): Promise<Once<T>> => {
    try {
      const result = await asked.current();
      return result === undefined ? { is: "absent", at: Date.now() } : { is: "done", result, found: true };
    } catch {
      return { is: "unknown" };
    }
  };
  return {
    state,
    run: () => (mayRun(state) ? guarded("sending", sent) : undefined),
    ask: () => (state.is === "unknown" ? guarded("looking", looked) : undefined),
  };
}
