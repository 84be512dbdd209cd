// How an answer gets to the server: once. It waits two seconds in which it can be undone, and if nobody knows whether
// it arrived, the request is read before anybody can send again.
import { useSyncExternalStore } from "react";
import { api } from "../../api/client";
import { statusOf } from "../../api/errors";
import type { Json } from "../../api/exact";
import { leavesOpen } from "../../app/act/useOnce";
import { queryClient } from "../../app/queries";
import { onSignOut } from "../../auth/session";
import { clean } from "../../ui/clean";
import { sendSoon, somethingPending, toast, undoPending } from "../../ui/Toast";
import { approvals as w } from "../../words/approvals";
import { readRequest, requestKey, type Scope, type Shown } from "./queries";

/** Given is what a person answers. */
export type Given =
  | { is: "approve"; note?: string; scope?: Scope; arguments?: Record<string, Json> }
  | { is: "reject"; note: string };

/** Progress is where an answer is. */
export type Progress =
  | { is: "waiting" | "sending" | "unknown"; given: Given }
  | { is: "refused"; error: unknown }
  /** Somebody else was first, or the time was over: the request says which. */
  | { is: "late" }
  /** No answer came, and the request still waited when it was read. */
  | { is: "lost"; readAt: number };

const all = new Map<string, Progress>();
const watchers = new Set<() => void>();

function set(id: string, progress: Progress | undefined): void {
  if (progress) all.set(id, progress);
  else all.delete(id);
  for (const watcher of watchers) watcher();
}

onSignOut(() => {
  undoPending(); // else the answer of one person would go out as another's
  for (const id of [...all.keys()]) set(id, undefined);
});

/** useProgress is where the answer to a request is; undefined: nobody here answers it. */
export const useProgress = (id: string): Progress | undefined =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => all.get(id),
  );

/** isBusy reports whether an answer to the request is on its way. */
export const isBusy = (progress: Progress | undefined): boolean =>
  progress?.is === "waiting" || progress?.is === "sending" || progress?.is === "unknown";

/** answer sends an answer after two seconds. False: another one waits, or this request is being answered. */
export function answer(org: string, request: Shown, given: Given): boolean {
  const id = request.delegationId;
  if (isBusy(all.get(id))) return false;
  if (somethingPending()) {
    toast(w.oneAtATime);
    return false;
  }
  set(id, { is: "waiting", given });
  const tool = clean(request.tool);
  const saying = given.is === "reject" ? w.rejecting(tool) : given.scope ? w.standingSoon(tool) : w.approving(tool);
  sendSoon(
    saying,
    () => void send(org, id, given),
    () => set(id, undefined),
  );
  return true;
}

/** send sends it now, once, and finds out what became of it. Exported for tests. */
export async function send(org: string, id: string, given: Given): Promise<void> {
  set(id, { is: "sending", given });
  try {
    const answered = await post(org, id, given);
    queryClient.setQueryData<Shown>(requestKey(org, id), (old) => old && { ...old, ...answered });
    set(id, undefined);
    toast(answered.status === "pending" ? w.counted : given.is === "reject" ? w.rejectedNow : w.approvedNow);
  } catch (error) {
    if (leavesOpen(error)) {
      set(id, { is: "unknown", given });
      await find(org, id);
    } else set(id, statusOf(error) === 409 ? { is: "late" } : { is: "refused", error });
  }
  void queryClient.invalidateQueries({ queryKey: [org, "approvals"] });
}

function post(org: string, approvalId: string, given: Given) {
  const params = { query: { organizationId: org } };
  if (given.is === "reject") return api.post("/delegation/reject", { params, body: { approvalId, note: given.note } });
  return api.post("/delegation/approve", {
    params,
    body: {
      approvalId,
      ...(given.note ? { note: given.note } : {}),
      ...(given.scope ? { scope: given.scope } : {}),
      ...(given.arguments ? { arguments: given.arguments } : {}),
    },
  });
}

const longest = 15_000;

// find reads the request until the server answers: then it is known whether the answer arrived.
async function find(org: string, id: string): Promise<void> {
  for (let wait = 500; ; wait = Math.min(wait * 2, longest)) {
    try {
      const now = await readRequest(org, id);
      queryClient.setQueryData(requestKey(org, id), now);
      set(id, now.status === "pending" ? { is: "lost", readAt: Date.now() } : undefined);
      return;
    } catch (error) {
      const status = statusOf(error);
      if (status > 0 && status < 500 && status !== 429) {
        set(id, { is: "refused", error });
        return;
      }
    }
    // A page that is gone, or whose person is, waits for nothing.
    if (!all.has(id)) return;
    await new Promise((done) => setTimeout(done, wait));
  }
}
