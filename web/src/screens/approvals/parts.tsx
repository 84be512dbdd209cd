import { useQuery } from "@tanstack/react-query";
import { Link, type ParsedLocation, useRouter } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { useMe, useOrg } from "../../app/org";
import { StatusBadge } from "../../ui/Badge";
import { clean } from "../../ui/clean";
import { duration } from "../../ui/format";
import { undoPending } from "../../ui/Toast";
import { approvals as w } from "../../words/approvals";
import { type Approval, answersQuery, approversQuery, peopleQuery, planQuery, type Shown } from "./queries";
import { type Answerer, approveBar, type Bar, isOwn, ownBar } from "./rights";
import "./approvals.css";

const tabs = [
  ["pending", "/approvals", { status: undefined }],
  ["history", "/approvals", { status: "all" }],
  ["standing", "/approvals/standing", {}],
  ["figures", "/approvals/figures", {}],
] as const;

export type Tab = (typeof tabs)[number][0];

/** Tabs lead to the parts of the approvals. */
export function Tabs({ shown }: { shown: Tab }) {
  return (
    <nav className="approval-tabs" aria-label={w.title}>
      {tabs.map(([id, to, search]) => (
        <Link
          key={id}
          to={to}
          search={search}
          className="approval-tab"
          activeOptions={{ exact: true, explicitUndefined: true }}
          data-shown={id === shown || undefined}
        >
          {w.tabs[id]}
        </Link>
      ))}
    </nav>
  );
}

/** useAnswerer is the person who looks, and what they may do here. */
export function useAnswerer(): Answerer {
  const { user } = useMe();
  const org = useOrg();
  return { id: user.id, email: user.email, role: org.role, rights: org.rights };
}

/** useName gives the names of people by their ids. */
export function useName(): (id: string | undefined) => string {
  const { user } = useMe();
  const people = useQuery(peopleQuery(useOrg().id));
  return (id) => (id === user.id ? w.you : clean((id && people.data?.get(id)) || w.somebody));
}

/** useOwnBar is why one's own request cannot be approved, null if it can; undefined: it is another's, or nobody knows. */
export function useOwnBar(r: Shown): Bar | null | undefined {
  const who = useAnswerer();
  const org = useOrg().id;
  const own = isOwn(r, who) && !approveBar(r, who);
  const approvers = useQuery({ ...approversQuery(org), enabled: own });
  const settings = useQuery({ ...answersQuery(org), enabled: own });
  const plan = useQuery({ ...planQuery(org, r.planId ?? ""), enabled: own && !!r.planId });
  if (!own) return undefined;
  return ownBar(r, who, {
    approvers: approvers.data,
    selfApproval: settings.data?.selfApproval,
    delegated: r.planId ? plan.data && plan.data.parentId !== null : false,
  });
}

// Another request of the same list is no other view: people answer one and go on to the next.
const viewOf = ({ pathname, search }: ParsedLocation) => JSON.stringify([pathname, { ...search, id: undefined }]);

/** useLeaving takes back the answer that waits when the view is left: at the click, not when the next one is there. */
export function useLeaving(): void {
  const router = useRouter();
  useEffect(() => {
    const stop = router.subscribe("onBeforeNavigate", ({ fromLocation: from, toLocation: to }) => {
      if (!from || viewOf(from) !== viewOf(to)) undoPending();
    });
    return () => {
      stop();
      undoPending();
    };
  }, [router]);
}

/** useSeconds is the time, renewed every second. */
export function useSeconds(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Left is how much time is left to answer. */
export function Left({ request }: { request: Approval }) {
  const left = Date.parse(request.expiresAt) - useSeconds();
  return <span className="nowrap">{left > 0 ? w.left(roughly(left)) : w.over}</span>;
}

// Seconds matter in the last minutes only.
const roughly = (ms: number) => duration(ms >= 120_000 ? ms - (ms % 60_000) : Math.max(1000, ms - (ms % 1000)));

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** Status is the state of a request, in a word. */
export function Status({ request }: { request: Approval }) {
  return <StatusBadge word={w.status[request.status] ?? request.status} />;
}
