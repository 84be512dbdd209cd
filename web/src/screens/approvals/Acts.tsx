import { useRef } from "react";
import type { Json } from "../../api/exact";
import { useMay, useOrg } from "../../app/org";
import { useScreenKeys } from "../../app/shell/keys";
import { Button } from "../../ui/Button";
import { toast } from "../../ui/Toast";
import { useOnline } from "../../ui/useOnline";
import { approvals as w } from "../../words/approvals";
import { words } from "../../words/en";
import type { Asks } from "./AnswerDialog";
import { answer, isBusy, type Progress } from "./answer";
import { isRedacted } from "./compare";
import { useAnswerer, useName, useOwnBar } from "./parts";
import type { Shown } from "./queries";
import { approveBar, type Bar, isOwn, rejectBar } from "./rights";

interface ActsProps {
  request: Shown;
  progress: Progress | undefined;
  /** The time seems over; the server is being asked. */
  over: boolean;
  /** The arguments were in view. */
  seen: boolean;
  onUnread: () => void;
  /** Opens the dialog of an answer that needs more than a key. */
  onAsk: (asks: Asks) => void;
}

// What comes up under somebody's fingers is not answered by the key that was meant for another.
const leastLook = 700;

/** Acts are the answers: the safe one is the easy one. Keys: y n e w. */
export function Acts({ request: r, progress, over, seen, onUnread, onAsk }: ActsProps) {
  const org = useOrg();
  const came = useRef(Date.now());
  const critical = r.risk.level === "critical";
  const { approve, reject, edit, wider } = useRefusals(r, progress, over);
  const unread = !seen && (critical || r.risk.level === "high");
  const go = (refused: string | undefined, needsReading: boolean, then: () => void) => () => {
    if (Date.now() - came.current < leastLook) toast(w.justCame);
    else if (refused) toast(refused);
    else if (needsReading) {
      onUnread();
      toast(w.readFirst);
    } else then();
  };
  const approveOnce = () => (critical ? onAsk("approve") : void answer(org.id, r, { is: "approve" }));
  useScreenKeys({
    y: go(approve, unread, approveOnce),
    n: go(reject, false, () => onAsk("reject")),
    e: go(edit, unread, () => onAsk("edit")),
    w: go(wider, unread, () => onAsk("wider")),
  });
  const once = r.scopes.find((s) => s.kind === "once")?.words;
  const notRead = unread ? w.readFirst : undefined;
  return (
    <section className="approval-acts" aria-label={w.acts}>
      <OwnWords request={r} />
      {once && (
        <p className="small approval-permits">
          <span className="hidden-text">{w.permits}: </span>
          {once}
        </p>
      )}
      <div className="approval-buttons">
        <Button refused={reject} onClick={() => onAsk("reject")} aria-keyshortcuts="n">
          {w.reject} <Key of="n" />
        </Button>
        <Button refused={edit ?? notRead} onClick={() => onAsk("edit")} aria-keyshortcuts="e">
          {w.edit} <Key of="e" />
        </Button>
        <Button refused={wider ?? notRead} onClick={() => onAsk("wider")} aria-keyshortcuts="w">
          {w.wider} <Key of="w" />
        </Button>
        <Button
          look="primary"
          className="approval-yes"
          refused={approve ?? notRead}
          onClick={approveOnce}
          aria-keyshortcuts="y"
        >
          {w.approve} <Key of="y" />
        </Button>
      </div>
    </section>
  );
}

/** OwnWords is what somebody should know of their own request. */
function OwnWords({ request: r }: { request: Shown }) {
  const own = useOwnBar(r);
  if (!isOwn(r, useAnswerer())) return null;
  return <p className="small muted">{own ? ownWords(own) : own === null ? w.ownMay : w.ownRequest}</p>;
}

const ownWords = (bar: Bar) => (bar.is === "alone" ? w.ownAlone(bar.needed) : w.ownBarred);

function Key({ of }: { of: string }) {
  return (
    <kbd className="wide-only" aria-hidden>
      {of}
    </kbd>
  );
}

/** useRefusals is why each answer cannot be given now. */
function useRefusals(r: Shown, progress: Progress | undefined, over: boolean) {
  const who = useAnswerer();
  const name = useName();
  const own = useOwnBar(r);
  const role = useMay("approvals.decide");
  const offline = useOnline() ? undefined : words.shell.offlineRefused;
  const now = offline ?? (isBusy(progress) ? w.busy : over ? w.timeOver : undefined);
  const because = (bar: Bar | undefined): string | undefined => {
    if (!bar) return undefined;
    if (bar.is === "role") return role ?? words.shell.roleRefused(who.role, "approvals.decide");
    if (bar.is === "higher") return w.needsRole(bar.role);
    if (bar.is === "asked") return w.asksOf(name(bar.of));
    return bar.is === "voted" ? w.votedAlready : ownWords(bar);
  };
  const approve = now ?? because(approveBar(r, who) ?? own ?? undefined);
  const given = r.arguments as Record<string, Json> | null;
  const unseen = r.argumentsFrom ? w.unseenEdit : undefined;
  return {
    approve,
    reject: now ?? because(rejectBar(r, who)),
    edit: approve ?? unseen ?? (!given ? w.noEdit : isRedacted(given) ? w.redactedEdit : undefined),
    wider: approve ?? (r.scopes.length < 2 ? w.onlyOnce : undefined),
  };
}
