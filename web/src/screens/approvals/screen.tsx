import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { usePage } from "../../app/shell/page";
import { SkeletonLines } from "../../ui/states";
import { approvals as w } from "../../words/approvals";
import { Tabs } from "./parts";
import { Queue } from "./Queue";

// Tables load with the history: an approver with a phone waits for the queue alone.
const History = lazy(() => import("./History").then((m) => ({ default: m.History })));

const route = getRouteApi("/frame/approvals");

/** Approvals is the queue of requests that wait for a person, and with a status the history. */
export function Approvals() {
  const search = route.useSearch();
  const history = search.status !== undefined;
  usePage({ name: w.title, to: "/approvals" }, ...(history ? [{ name: w.tabs.history }] : []));
  return (
    <div className="screen fill">
      <div className="screen-head">
        <h1 className="grow">{history ? w.tabs.history : w.title}</h1>
      </div>
      <Tabs shown={history ? "history" : "pending"} />
      {history ? (
        <Suspense fallback={<SkeletonLines lines={6} />}>
          <History search={search} />
        </Suspense>
      ) : (
        <Queue id={search.id} />
      )}
    </div>
  );
}
