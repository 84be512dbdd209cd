import { Link, useRouter, useRouterState } from "@tanstack/react-router";
import { PanelLeftClose, PanelLeftOpen } from "lucide-react";
import { useMemo } from "react";
import { Button } from "../../ui/Button";
import { words } from "../../words/en";
import { entriesOf, type NavEntry } from "./nav";
import { usePlace } from "./page";
import { useCounts } from "./useCounts";

/** useEntries are the screens of the navigation. */
export function useEntries(): NavEntry[] {
  const router = useRouter();
  return useMemo(() => {
    const known = new Set(
      Object.values(router.routesById).map((r) => (r.fullPath === "/" ? "/" : r.fullPath.replace(/\/$/, ""))),
    );
    return entriesOf(known as Set<string>);
  }, [router]);
}

// An entry of the log stands at one address, and belongs to the list that its breadcrumbs name: a decision to Decisions.
function useEntryOf(): string | undefined {
  const { trail } = usePlace();
  const entry = useRouterState({ select: (s) => s.matches.at(-1)?.routeId === "/frame/audit/$index" });
  return entry ? trail[0]?.to : undefined;
}

interface NavProps {
  folded: boolean;
  onFold?: () => void;
  onNavigate?: () => void;
}

/** Nav leads to every screen. */
export function Nav({ folded, onFold, onNavigate }: NavProps) {
  const entries = useEntries();
  const groups = [undefined, "watch", "act", "prove"] as const;
  const top = entries.filter((e) => !e.group && e.to === "/");
  const rest = entries.filter((e) => !e.group && e.to !== "/");
  return (
    <nav className={folded ? "nav folded" : "nav"} aria-label={words.shell.navigation}>
      <div className="nav-brand">
        <span className="nav-mark" aria-hidden>
          W
        </span>
        {!folded && <span>{words.shell.product}</span>}
      </div>
      <NavList entries={top} folded={folded} onNavigate={onNavigate} />
      {groups.slice(1).map((group) => {
        const list = entries.filter((e) => e.group === group);
        return list.length > 0 && group ? (
          <div key={group}>
            {!folded && <p className="nav-group">{words.shell.groups[group]}</p>}
            <NavList entries={list} folded={folded} onNavigate={onNavigate} />
          </div>
        ) : null;
      })}
      <div className="grow" />
      <NavList entries={rest} folded={folded} onNavigate={onNavigate} />
      {onFold && (
        <Button
          look="quiet"
          icon
          className="nav-fold"
          onClick={onFold}
          aria-label={folded ? words.shell.unfold : words.shell.fold}
        >
          {folded ? <PanelLeftOpen size={16} aria-hidden /> : <PanelLeftClose size={16} aria-hidden />}
        </Button>
      )}
    </nav>
  );
}

interface ListProps {
  entries: NavEntry[];
  folded: boolean;
  onNavigate: (() => void) | undefined;
}

function NavList({ entries, folded, onNavigate }: ListProps) {
  const counts = useCounts();
  const entryOf = useEntryOf();
  return (
    <ul>
      {entries.map(({ to, name, icon: Icon, counts: counted }) => {
        const n = counted ? counts[counted] : 0;
        return (
          <li key={to}>
            <Link
              to={to}
              className="nav-link"
              aria-current={to === entryOf ? "page" : undefined}
              activeProps={{ "aria-current": "page" }}
              activeOptions={{ exact: to === "/" || to === "/audit", includeSearch: false }}
              title={folded ? name : undefined}
              aria-label={folded ? name : undefined}
              {...(onNavigate ? { onClick: onNavigate } : {})}
            >
              <Icon size={18} aria-hidden />
              {!folded && <span className="grow">{name}</span>}
              {n > 0 && <span className="nav-count">{n}</span>}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
