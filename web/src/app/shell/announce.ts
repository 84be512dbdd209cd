// Notifications of the browser: only while a page is open, only where the person allowed them, and never with
// arguments of a call.
import type { Body } from "../../api/client";
import { clean } from "../../ui/clean";
import { readStored, store } from "../../ui/stored";
import { words } from "../../words/en";

const setting = "writ.browser-notifications";
const most = 3; // at a time: more would be a flood

/** Telling is whether this browser tells: it may refuse, or be unable to (plain HTTP, some phones). */
export type Telling = "on" | "off" | "refused" | "unable";

export function telling(): Telling {
  if (typeof Notification === "undefined" || !isSecureContext) return "unable";
  if (Notification.permission === "denied") return "refused";
  return readStored(setting) === "yes" && Notification.permission === "granted" ? "on" : "off";
}

/** setTelling turns it on, which asks the person, or off. */
export async function setTelling(on: boolean): Promise<Telling> {
  if (on && telling() !== "unable") await Notification.requestPermission();
  store(setting, on ? "yes" : undefined);
  return telling();
}

/** announce tells of requests that wait for an answer, unless the person looks at the page. */
export function announce(events: Body<"StreamedEventBody">[], org: string): void {
  const opened = events.filter((e) => e.kind === "approval.opened" && e.status === "pending");
  if (opened.length === 0 || telling() !== "on" || document.hasFocus()) return;
  for (const event of opened.slice(0, most)) show(event, org);
}

function show(event: Body<"StreamedEventBody">, org: string): void {
  try {
    // Several tabs hear of it: a tag makes it one notification.
    const shown = new Notification(words.shell.waits(clean(event.tool)), {
      body: words.shell.waitsRisk(words.ui.risks[event.risk ?? ""] ?? ""),
      tag: `writ ${event.requestId}`,
    });
    shown.addEventListener("click", () => {
      window.focus();
      location.assign(`/ui/approvals/${encodeURIComponent(event.requestId)}?org=${encodeURIComponent(org)}`);
    });
  } catch {
    // Browsers of some phones have them for service workers alone.
  }
}
