import { useRef, useState } from "react";
import type { Json } from "../../api/exact";
import { useMay, useOrg } from "../../app/org";
import { useScreenKeys } from "../../app/shell/keys";
import { Button } from "../../ui/Button";
import { toast } from "../../ui/Toast";
import { useOnline } from "../../ui/useOnline";
import { approvals as w } from "../../words/approvals";
import { words } from "../../words/en";
import { answer, type Given, isBusy, type Progress } from "./answer";
import { isRedacted } from "./compare";
import { EditDialog } from "./EditDialog";
import { NoteDialog } from "./NoteDialog";
import { useAnswerer, useName } from "./parts";
import type { Shown } from "./queries";
import { approveBar, type Bar, isOwn, rejectBar } from "./rights";
import { WiderDialog } from "./WiderDialog";

interface ActsProps {
  request: Shown;
  progress: Progress | undefined;
  /** The time seems over; the server is being asked. */
  over: boolean;
  /** The arguments were in view. */
  seen: boolean;
  onUnread: () => void;
}

type Open = "approve" | "reject" | "edit" | "wider";

// What comes up under somebody's fingers is not answered by the key that was meant for another.
const leastLook = 700;

/** Acts are the answers: the safe one is the easy one. Keys: y n e w. */
export function Acts({ request: r, progress, over, seen, onUnread }: ActsProps) {
  const org = useOrg();
  const [open, setOpen] = useState<Open>();
  const came = useRef(Date.now());
  const critical = r.risk.level === "critical";
  const { approve, reject, edit, wider } = useRefusals(r, progress, over);
  const unread = !seen && (critical || r.risk.level === "high");
  const give = (given: Given) => {
    setOpen(undefined);
    answer(org.id, r, given);
  };
  const go = (refused: string | undefined, needsReading: boolean, then: () => void) => () => {
    if (Date.now() - came.current < leastLook) toast(w.justCame);
    else if (refused) toast(refused);
    else if (needsReading) {
      onUnread();
      toast(w.readFirst);
    } else then();
  };
  const approveOnce = () => (critical ? setOpen("approve") : give({ is: "approve" }));
  useScreenKeys({
    y: go(approve, unread, approveOnce),
    n: go(reject, false, () => setOpen("reject")),
    e: go(edit, unread, () => setOpen("edit")),
    w: go(wider, unread, () => setOpen("wider")),
  });
  const once = r.scopes.find((s) => s.kind === "once")?.words;
  const close = () => setOpen(undefined);
  const notRead = unread ? w.readFirst : undefined;
  return (
    <section className="approval-acts" aria-label={w.acts}>
      {isOwn(r, useAnswerer()) && <p className="small muted">{w.ownRequest}</p>}
      {once && (
        <p className="small approval-permits">
          <span className="hidden-text">{w.permits}: </span>
          {once}
        </p>
      )}
      <div className="approval-buttons">
        <Button refused={reject} onClick={() => setOpen("reject")} aria-keyshortcuts="n">
          {w.reject} <Key of="n" />
        </Button>
        <Button refused={edit ?? notRead} onClick={() => setOpen("edit")} aria-keyshortcuts="e">
          {w.edit} <Key of="e" />
        </Button>
        <Button refused={wider ?? notRead} onClick={() => setOpen("wider")} aria-keyshortcuts="w">
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
      {open === "approve" && (
        <NoteDialog
          title={w.approveTitle}
          label={w.approveNote}
          hint={w.approveNoteHelp}
          act={w.approve}
          permits={once}
          onClose={close}
          onGive={(note) => give({ is: "approve", note })}
        />
      )}
      {open === "reject" && (
        <NoteDialog
          title={w.rejectTitle}
          label={w.rejectNote}
          hint={w.rejectHelp}
          act={w.rejectAct}
          danger
          onClose={close}
          onGive={(note) => give({ is: "reject", note })}
        />
      )}
      {open === "edit" && <EditDialog request={r} noted={critical} onClose={close} onGive={give} />}
      {open === "wider" && <WiderDialog request={r} noted={critical} onClose={close} onGive={give} />}
    </section>
  );
}

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
  const role = useMay("approvals.decide");
  const offline = useOnline() ? undefined : words.shell.offlineRefused;
  const now = offline ?? (isBusy(progress) ? w.busy : over ? w.timeOver : undefined);
  const because = (bar: Bar | undefined): string | undefined => {
    if (!bar) return undefined;
    if (bar.is === "role") return role ?? words.shell.roleRefused(who.role);
    if (bar.is === "higher") return w.needsRole(bar.role);
    return bar.is === "asked" ? w.asksOf(name(bar.of)) : w.votedAlready;
  };
  const approve = now ?? because(approveBar(r, who));
  const given = r.arguments as Record<string, Json> | null;
  const unseen = r.argumentsFrom ? w.unseenEdit : undefined;
  return {
    approve,
    reject: now ?? because(rejectBar(r, who)),
    edit: approve ?? unseen ?? (!given ? w.noEdit : isRedacted(given) ? w.redactedEdit : undefined),
    wider: approve ?? (r.scopes.length < 2 ? w.onlyOnce : undefined),
  };
}
