import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import { useMay, useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { Empty } from "../../ui/states";
import { words } from "../../words/en";
import { billingQuery, referralsQuery } from "./queries";
import "./settings.css";

const w = words.settings;

export type Tab = keyof typeof w.tabs;

const tabs: [Tab, string][] = [
  ["organization", "/settings"],
  ["members", "/settings/members"],
  ["roles", "/settings/roles"],
  ["keys", "/settings/keys"],
  ["identity", "/settings/identity"],
  ["webhooks", "/settings/webhooks"],
  ["forwarding", "/settings/forwarding"],
  ["enforcement", "/settings/enforcement"],
  ["retention", "/settings/retention"],
  ["billing", "/settings/billing"],
  ["referrals", "/settings/referrals"],
];

interface PageProps {
  tab: Tab;
  /** The thing below the tab that is shown. */
  thing?: string;
  /** Acts beside the title. */
  acts?: ReactNode;
  /** Whether a table fills the screen. */
  fill?: boolean;
  /** What the role must allow to see it. */
  needs?: string;
  children: ReactNode;
}

/** SettingsPage is one page of the settings, with the way to the others. */
export function SettingsPage({ tab, thing, acts, fill, needs, children }: PageProps) {
  const to = tabs.find(([id]) => id === tab)?.[1] ?? "/settings";
  usePage(
    { name: w.title, to: "/settings" },
    { name: w.tabs[tab], ...(thing ? { to } : {}) },
    ...(thing ? [{ name: thing }] : []),
  );
  // Where nobody pays or refers there is nothing to show.
  const org = useOrg();
  const pays = useQuery(billingQuery(org.id)).data;
  const refers = useQuery(referralsQuery(org.id)).data;
  const off = (id: Tab) => (id === "billing" && !pays) || (id === "referrals" && !refers);
  const shownTabs = tabs.filter(([id]) => id === tab || !off(id));
  const refused = useMay(needs ?? "organization.read");
  // A phone shows three tabs of eleven: the one that is open must be among them.
  const strip = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is another place, and one more moves the others
  useEffect(() => {
    const shown = strip.current?.querySelector<HTMLElement>("[data-shown]");
    if (strip.current && shown) strip.current.scrollLeft = shown.offsetLeft - strip.current.offsetLeft - 48;
  }, [tab, shownTabs.length]);
  return (
    <div className={fill ? "screen fill" : "screen"}>
      <div className="screen-head">
        <h1 className="grow">{thing ?? w.tabs[tab]}</h1>
        {!refused && acts}
      </div>
      <nav className="setting-tabs" ref={strip} aria-label={w.title}>
        {shownTabs.map(([id, path]) => (
          <Link
            key={id}
            to={path}
            className="setting-tab"
            activeOptions={{ exact: true, includeSearch: false }}
            data-shown={id === tab || undefined}
          >
            {w.tabs[id]}
          </Link>
        ))}
      </nav>
      {refused ? <Empty title={words.errors.forbidden}>{refused}</Empty> : children}
    </div>
  );
}

export { Loaded } from "../../ui/Loaded";
