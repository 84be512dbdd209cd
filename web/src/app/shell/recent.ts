// What this tab looked at last, for the palette.
import { useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";
import { onSignOut } from "../../auth/session";
import { readStored, store } from "../../ui/stored";
import { usePlace } from "./page";

export interface Recent {
  area: string;
  name: string;
  href: string;
}

const key = "writ.recent";
const most = 8;

/** recentThings are the things that were opened last, the newest first. */
export function recentThings(): Recent[] {
  try {
    const list = JSON.parse(readStored(key, true) ?? "[]");
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** withRecent is the list after one more thing was opened. */
export function withRecent(list: Recent[], thing: Recent): Recent[] {
  return [thing, ...list.filter((r) => r.href !== thing.href)].slice(0, most);
}

onSignOut(() => store(key, undefined, true));

/** useRecent remembers every thing that is opened: what has a place below an area. The shell calls it once. */
export function useRecent(): void {
  const { trail } = usePlace();
  const href = useRouterState({ select: (s) => s.location.pathname + s.location.searchStr });
  useEffect(() => {
    const [area, thing] = [trail[0], trail.at(-1)];
    if (trail.length < 2 || !area || !thing || thing.to) return;
    store(key, JSON.stringify(withRecent(recentThings(), { area: area.name, name: thing.name, href })), true);
  }, [trail, href]);
}
