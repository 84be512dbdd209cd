import { useState } from "react";
import { Button, Field } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Form } from "../../ui/form";
import { approvals as w } from "../../words/approvals";
import { words } from "../../words/en";

interface NoteProps {
  title: string;
  label: string;
  hint: string;
  act: string;
  danger?: boolean;
  permits?: string | undefined;
  /** Why no answer is taken any more. */
  late: string | undefined;
  onClose: () => void;
  onGive: (note: string) => void;
}

/** maxNote is how many bytes the server takes. */
export const maxNote = 1000;
const bytes = (text: string) => new TextEncoder().encode(text).length;

/** noteWrong is why a note is not taken. */
export function noteWrong(note: string, needed: boolean): string | undefined {
  if (needed && note.trim() === "") return w.noteNeeded;
  return bytes(note) > maxNote ? w.noteLong : undefined;
}

/** NoteDialog asks why, before an answer that needs a reason. */
export function NoteDialog({ title, label, hint, act, danger, permits, late, onClose, onGive }: NoteProps) {
  const [note, setNote] = useState("");
  const [tried, setTried] = useState(false);
  const wrong = noteWrong(note, true);
  const give = () => {
    setTried(true);
    if (!wrong && !late) onGive(note.trim());
  };
  return (
    <Dialog open onClose={onClose} title={title}>
      <Form onSubmit={give}>
        {permits && <p>{permits}</p>}
        <Field
          label={label}
          hint={hint}
          wrong={tried ? wrong : undefined}
          value={note}
          onChange={(e) => setNote(e.target.value)}
          autoComplete="off"
        />
        <Late text={late} />
        <div className="row end">
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button type="submit" look={danger ? "danger" : "primary"} refused={late}>
            {act}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** Late says that the request was answered meanwhile, or that its time is over. */
export function Late({ text }: { text: string | undefined }) {
  return text ? (
    <p role="alert" className="wrong-text">
      {text}
    </p>
  ) : null;
}
