import { useState } from "react";
import { readStored, store } from "./stored";

/** useKept is a text that is kept in this tab while somebody writes it: a reload takes nothing. Undefined drops it. */
export function useKept(key: string, first = ""): [string, (text: string | undefined) => void] {
  const [text, setText] = useState(() => readStored(key, true) ?? first);
  const keep = (next: string | undefined) => {
    store(key, next === first ? undefined : next, true);
    setText(next ?? first);
  };
  return [text, keep];
}
