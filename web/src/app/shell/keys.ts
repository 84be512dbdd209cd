import { useNavigate, useRouter } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useLiveState } from "../../live/useLive";
import { copyText } from "../../ui/CopyButton";
import { readStored } from "../../ui/stored";
import { toast, undoPending } from "../../ui/Toast";
import { words } from "../../words/en";
import { useEntries } from "./Nav";
import { neighbour } from "./neighbours";

export const keysOffSetting = "writ.keys-off";

const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

const press = (selector: string) => {
  const element = document.querySelector<HTMLElement>(selector);
  element?.click();
  return element !== null;
};

// The table takes j and k itself once a row has the focus.
const focusRow = () => document.querySelector<HTMLElement>('[role="row"][tabindex="0"]')?.focus();

// What single keys do on the screen that is shown; they come before those of every screen.
const screenActs = new Set<Record<string, () => unknown>>();

/** useScreenKeys gives single keys to a part of a screen while it is shown. */
export function useScreenKeys(acts: Record<string, () => unknown>): void {
  useEffect(() => {
    screenActs.add(acts);
    return () => void screenActs.delete(acts);
  });
}

const screenAct = (key: string) => [...screenActs].find((acts) => Object.hasOwn(acts, key))?.[key];

/** useKeys handles the keys that work on every screen. Single keys rest while typing and in dialogs. */
export function useKeys(open: (overlay: "palette" | "keys") => void): void {
  const navigate = useNavigate();
  const router = useRouter();
  const entries = useEntries();
  const { paused, setPaused } = useLiveState();
  const going = useRef(0);
  useEffect(() => {
    const acts: Record<string, () => unknown> = {
      "?": () => open("keys"),
      "/": () => press("[data-filter-button]"),
      t: () => press("[data-range-button]"),
      l: () => setPaused(!paused),
      u: () => undoPending(),
      j: () => focusRow(),
      k: () => focusRow(),
      "[": () => goBeside(-1),
      "]": () => goBeside(1),
      ".": () => press("[data-acts]") || open("palette"),
      c: async () => (await copyText(location.href)) && toast(words.shell.linkCopied),
    };
    const goBeside = (step: 1 | -1) => {
      const path = neighbour(location.pathname.replace(/^\/ui/, ""), step);
      const org = new URLSearchParams(location.search).get("org");
      // What was open in the one is not in the other.
      if (path) router.history.push(`/ui${path}${org ? `?org=${encodeURIComponent(org)}` : ""}`);
    };
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        open("palette");
        return;
      }
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
      if (document.querySelector('[role="dialog"], [role="menu"]') || readStored(keysOffSetting) === "yes") return;
      if (event.key === "g") {
        going.current = Date.now();
        return;
      }
      const entry = Date.now() - going.current < 1500 ? entries.find((e) => e.key === event.key) : undefined;
      going.current = 0;
      const act = screenAct(event.key) ?? acts[event.key];
      if (entry) void navigate({ to: entry.to });
      else if (act) act();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [navigate, router, entries, open, paused, setPaused]);
}
