import {
  Bell,
  Bot,
  ClipboardList,
  Gauge,
  GitBranch,
  House,
  ListChecks,
  type LucideIcon,
  MessagesSquare,
  ScrollText,
  Search,
  Server,
  Settings,
  ShieldCheck,
  SquarePause,
} from "lucide-react";
import { words } from "../../words/en";

const names = words.shell.screens;

export interface NavEntry {
  to: string;
  name: string;
  icon: LucideIcon;
  /** The key after g. */
  key?: string;
  group?: "watch" | "act" | "prove";
  /** Which number stands beside it. */
  counts?: "inbox" | "approvals";
}

// An entry appears with its screen: add it here when the route exists.
const all: NavEntry[] = [
  { to: "/", name: names.overview, icon: House, key: "o" },
  { to: "/sessions", name: names.sessions, icon: MessagesSquare, key: "s", group: "watch" },
  { to: "/traces", name: names.traces, icon: GitBranch, key: "t", group: "watch" },
  { to: "/decisions", name: names.decisions, icon: ListChecks, key: "d", group: "watch" },
  { to: "/plans", name: names.plans, icon: ClipboardList, key: "p", group: "watch" },
  { to: "/usage", name: names.usage, icon: Gauge, key: "u", group: "watch" },
  { to: "/approvals", name: names.approvals, icon: SquarePause, key: "a", group: "act", counts: "approvals" },
  { to: "/policies", name: names.policies, icon: ShieldCheck, key: "y", group: "act" },
  { to: "/agents", name: names.agents, icon: Bot, group: "act" },
  { to: "/servers", name: names.servers, icon: Server, group: "act" },
  { to: "/audit", name: names.audit, icon: ScrollText, key: "l", group: "prove" },
  { to: "/findings", name: names.findings, icon: Search, group: "prove" },
  { to: "/inbox", name: names.inbox, icon: Bell, counts: "inbox" },
  { to: "/settings", name: names.settings, icon: Settings },
];

/** entriesOf lists the screens that exist. */
export function entriesOf(paths: ReadonlySet<string>): NavEntry[] {
  return all.filter((entry) => paths.has(entry.to));
}
