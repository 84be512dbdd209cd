import { useOrg } from "../../app/org";
import { approvals as w } from "../../words/approvals";
import { answer, type Given } from "./answer";
import { EditDialog } from "./EditDialog";
import { NoteDialog } from "./NoteDialog";
import { useName } from "./parts";
import type { Shown } from "./queries";
import { WiderDialog } from "./WiderDialog";

/** Asks is what an answer is asked about before it is given. */
export type Asks = "approve" | "reject" | "edit" | "wider";

interface AnswerProps {
  asks: Asks;
  /** The request as it was when the dialog was opened, and as it is. */
  seen: Shown;
  now: Shown;
  onClose: () => void;
}

/**
 * AnswerDialog asks what an answer needs beside a key. It stays when a colleague is faster or the time ends, and says so:
 * what is still being typed would be keys that answer the next request.
 */
export function AnswerDialog({ asks, seen: r, now, onClose }: AnswerProps) {
  const org = useOrg();
  const name = useName();
  const noted = r.risk.level === "critical";
  const late =
    now.status === "pending" ? undefined : w.lateNow(w.status[now.status], now.decidedBy && name(now.decidedBy));
  const common = {
    late,
    onClose,
    onGive: (given: Given) => {
      onClose();
      answer(org.id, r, given);
    },
  };
  if (asks === "edit") return <EditDialog request={r} noted={noted} {...common} />;
  if (asks === "wider") return <WiderDialog request={r} noted={noted} {...common} />;
  if (asks === "reject")
    return (
      <NoteDialog
        title={w.rejectTitle}
        label={w.rejectNote}
        hint={w.rejectHelp}
        act={w.rejectAct}
        danger
        {...common}
        onGive={(note) => common.onGive({ is: "reject", note })}
      />
    );
  return (
    <NoteDialog
      title={w.approveTitle}
      label={w.approveNote}
      hint={w.approveNoteHelp}
      act={w.approve}
      permits={r.scopes.find((s) => s.kind === "once")?.words}
      {...common}
      onGive={(note) => common.onGive({ is: "approve", note })}
    />
  );
}
