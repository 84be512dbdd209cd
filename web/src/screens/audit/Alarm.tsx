import { OctagonAlert } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useOrg } from "../../app/org";
import { readCheckpoint } from "../../proof/note";
import { beginAgain, type Met, readPin, trustKey } from "../../proof/prove";
import { Button, Field } from "../../ui/Button";
import { ConfirmDialog, Dialog } from "../../ui/Dialog";
import { count } from "../../ui/format";
import { words } from "../../words/en";
import { memory } from "./useProof";

const w = words.proof;

/** Alarm says that a proof failed. No click hides it: a new key must be brought, and only a restore begins again. */
export function Alarm({ outcome, onAgain }: { outcome: Met; onAgain: () => void }) {
  const { problem, otherKey, seen, signed } = outcome;
  if (!problem) return null;
  const now = readCheckpoint(signed);
  return (
    <div className="proof-alarm" role="alert">
      <h3>
        <OctagonAlert size={18} aria-hidden />
        {w.problems[problem]}
      </h3>
      <p>{w.alarm}</p>
      {(problem === "shrunk" || problem === "epoch") && seen && now && (
        <p className="small">{w.lost(count(seen.size), count(now.size))}</p>
      )}
      {otherKey && <OtherKey outcome={outcome} onAgain={onAgain} />}
      {problem === "epoch" && <BeginAgain signed={signed} onAgain={onAgain} />}
    </div>
  );
}

function OtherKey({ outcome, onAgain }: { outcome: Met; onAgain: () => void }) {
  const org = useOrg();
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const pinned = readPin(memory(), org.id)?.keys ?? [];
  const [wrong, setWrong] = useState<string>();
  const trust = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== outcome.key || !trustKey(memory(), org.id, text)) {
      setWrong(w.giveKeyWrong);
      return;
    }
    setOpen(false);
    onAgain();
  };
  return (
    <>
      <dl className="facts">
        <dt>{w.keyNow}</dt>
        <dd>
          <code>{outcome.key}</code>
        </dd>
        <dt>{w.keyPinned}</dt>
        {pinned.map((key) => (
          <dd key={key}>
            <code>{key}</code>
          </dd>
        ))}
      </dl>
      <div className="row">
        <Button onClick={() => setOpen(true)}>{w.giveKey}</Button>
      </div>
      <Dialog open={open} onClose={() => setOpen(false)} title={w.giveKeyTitle}>
        <form className="stack" onSubmit={trust}>
          <p>{w.giveKeyHelp}</p>
          <Field
            label={w.giveKeyField}
            value={text}
            onChange={(e) => setText(e.target.value)}
            wrong={wrong}
            autoComplete="off"
            spellCheck={false}
          />
          <div className="row end">
            <Button onClick={() => setOpen(false)}>{words.ui.cancel}</Button>
            <Button type="submit" look="danger">
              {w.giveKeyAct}
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  );
}

function BeginAgain({ signed, onAgain }: { signed: string; onAgain: () => void }) {
  const org = useOrg();
  const [open, setOpen] = useState(false);
  const begin = async () => {
    if (!(await beginAgain(memory(), org.id, signed, new Date()))) throw new Error(w.problems.epoch);
    onAgain();
  };
  return (
    <>
      <div className="row">
        <Button onClick={() => setOpen(true)}>{w.beginAgain}</Button>
      </div>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        title={w.beginAgainTitle}
        act={w.beginAgainAct}
        danger
        type={org.name}
        onConfirm={begin}
      >
        <p>{w.beginAgainHelp}</p>
      </ConfirmDialog>
    </>
  );
}
