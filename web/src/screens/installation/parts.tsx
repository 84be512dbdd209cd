import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMe } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { Button } from "../../ui/Button";
import { Empty } from "../../ui/states";
import { words } from "../../words/en";
import { installation as w } from "../../words/installation";
import "../../ui/tabs.css";

export type Tab = keyof typeof w.tabs;

const tabs: [Tab, string][] = [
  ["usage", "/installation/usage"],
  ["access", "/installation/access"],
  ["blog", "/installation/blog"],
  ["operators", "/installation/operators"],
];

interface PageProps {
  tab: Tab;
  /** The thing below the tab that is shown. */
  thing?: string;
  /** Acts beside the title. */
  acts?: ReactNode;
  children: ReactNode;
}

/** InstallationPage is one page for operators, with the way to the others. Nobody else sees what is on it. */
export function InstallationPage({ tab, thing, acts, children }: PageProps) {
  const { operator } = useMe();
  const to = tabs.find(([id]) => id === tab)?.[1] ?? "/installation/usage";
  usePage(
    { name: w.title, to: "/installation/usage" },
    { name: w.tabs[tab], ...(thing ? { to } : {}) },
    ...(thing ? [{ name: thing }] : []),
  );
  return (
    <div className="screen">
      <div className="screen-head">
        <h1 className="grow">{thing ?? w.heads[tab]}</h1>
        {operator && acts}
      </div>
      {operator ? (
        <>
          <nav className="tabs" aria-label={w.title}>
            {tabs.map(([id, path]) => (
              <Link
                key={id}
                to={path}
                className="tab"
                activeOptions={{ exact: true, includeSearch: false }}
                data-shown={id === tab || undefined}
              >
                {w.tabs[id]}
              </Link>
            ))}
          </nav>
          {children}
        </>
      ) : (
        <Empty title={words.errors.forbidden}>{w.notOperator}</Empty>
      )}
    </div>
  );
}

interface MoreProps {
  hasMore: boolean;
  loadMore: () => void;
  loadingMore: boolean;
}

/** More loads the next page of a list. */
export function More({ hasMore, loadMore, loadingMore }: MoreProps) {
  if (!hasMore) return null;
  return (
    <div className="row">
      <Button busy={loadingMore} onClick={loadMore}>
        {w.more}
      </Button>
    </div>
  );
}
