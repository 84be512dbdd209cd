// The text that somebody writes, until it is saved. It is kept in this tab: a reload or a lost session takes nothing.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { getSession } from "../../auth/session";
import { readStored, store } from "../../ui/stored";
import { textQuery } from "./queries";

/** Mine is a text that was not saved, and the version it was made from. */
interface Mine {
  base: number;
  text: string;
}

// What one person wrote is not shown to the next one in the same browser.
const person = () => {
  const session = getSession();
  return session.state === "unknown" ? "" : (session.user ?? "");
};

/** keyOfNew is where the text of a policy is kept that was not made yet, by what it began as. */
export const keyOfNew = (org: string, began: string) => `writ.new-policy.${person()}.${org}.${began}`;

const keyOf = (id: string) => `writ.policy-draft.${person()}.${id}`;

function readMine(id: string): Mine | undefined {
  try {
    const kept = JSON.parse(readStored(keyOf(id), true) ?? "null") as Mine | null;
    return kept && typeof kept.text === "string" && typeof kept.base === "number" ? kept : undefined;
  } catch {
    return undefined;
  }
}

/** useDraft is the text of a policy as it is being written. */
export function useDraft(org: string, id: string, latest: number) {
  const [mine, keep] = useState<Mine | undefined>(() => readMine(id));
  const base = mine?.base ?? latest;
  const saved = useQuery(textQuery(org, id, base));
  const newest = useQuery(textQuery(org, id, latest));
  const set = (next: Mine | undefined) => {
    store(keyOf(id), next && JSON.stringify(next), true);
    keep(next);
  };
  // What was saved in the meantime, by an answer that was lost, is no change any more.
  const stored = mine !== undefined && newest.data === mine.text;
  useEffect(() => {
    if (!stored) return;
    store(keyOf(id), undefined, true);
    keep(undefined);
  }, [stored, id]);
  return {
    saved,
    base,
    /** Undefined: it is not loaded yet. */
    text: mine?.text ?? saved.data,
    changed: mine !== undefined && !stored,
    write: (text: string) => set(text === saved.data ? undefined : { base, text }),
    /** rebase puts the text on another version, undefined drops it. */
    rebase: (to: number | undefined) => set(to === undefined || !mine ? undefined : { base: to, text: mine.text }),
  };
}

export type Draft = ReturnType<typeof useDraft>;

const testsKey = (id: string) => `writ.policy-tests.${person()}.${id}`;

/** readTests are the tests of a policy that this browser keeps. */
export const readTests = (id: string) => readStored(testsKey(id));
export const keepTests = (id: string, text: string | undefined) => store(testsKey(id), text);
