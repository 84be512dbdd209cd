import { useMemo, useState } from "react";
import { type Json, parseExact, writeExact } from "../../api/exact";
import { AgentText } from "../../ui/AgentText";
import { Button, Field } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Area, Form } from "../../ui/form";
import { approvals as w } from "../../words/approvals";
import { words } from "../../words/en";
import type { Given } from "./answer";
import { changedNames } from "./compare";
import { Late, noteWrong } from "./NoteDialog";
import type { Shown } from "./queries";

interface EditProps {
  request: Shown;
  /** Whether a note is needed. */
  noted: boolean;
  /** Why no answer is taken any more. */
  late: string | undefined;
  onClose: () => void;
  onGive: (given: Given) => void;
}

/** objectOf reads the arguments that were typed; undefined: they are no object. */
export function objectOf(text: string): Record<string, Json> | undefined {
  try {
    // JSON.parse refuses what parseExact could take, such as a name twice or a lone word.
    JSON.parse(text);
    const value = parseExact(text);
    return value !== null &&
      typeof value === "object" &&
      !Array.isArray(value) &&
      Object.getPrototypeOf(value) === Object.prototype
      ? (value as Record<string, Json>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** EditDialog approves one call with other arguments than those that were asked for. */
export function EditDialog({ request: r, noted, late, onClose, onGive }: EditProps) {
  const before = r.arguments as Record<string, Json>;
  const [text, setText] = useState(() => writeExact(before));
  const [note, setNote] = useState("");
  const after = useMemo(() => objectOf(text), [text]);
  const changed = after ? changedNames(before, after) : [];
  const wrongNote = noteWrong(note, noted);
  const refused = late ?? (!after ? w.editWrong : changed.length === 0 ? w.editSame : wrongNote);
  const give = () => {
    if (refused || !after) return;
    onGive({ is: "approve", arguments: after, ...(note.trim() ? { note: note.trim() } : {}) });
  };
  return (
    <Dialog open onClose={onClose} title={w.editTitle} wide>
      <Form onSubmit={give}>
        <p className="muted">{w.editHelp}</p>
        <Area
          label={w.editField}
          wrong={after ? undefined : w.editWrong}
          value={text}
          onChange={(e) => setText(e.target.value)}
          rows={10}
          spellCheck={false}
          className="mono"
        />
        {changed.length > 0 && (
          <p role="status">
            {w.changes}{" "}
            {changed.map((name) => (
              <span key={name} className="badge neutral">
                <AgentText text={name} short />
              </span>
            ))}
          </p>
        )}
        <Field
          label={w.noteField}
          hint={noted ? w.approveNoteHelp : w.noteOptional}
          value={note}
          onChange={(e) => setNote(e.target.value)}
          autoComplete="off"
        />
        <Late text={late} />
        <div className="row end">
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button type="submit" look="primary" refused={refused}>
            {w.editAct}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
