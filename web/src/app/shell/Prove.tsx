import { useEffect, useRef, useState } from "react";
import { api } from "../../api/client";
import { offerProof } from "../../auth/proof";
import { Button, Field } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Form, fieldOf, Problem } from "../../ui/form";
import { words } from "../../words/en";

/** Prove asks for a code of the second factor when the server wants one, and has what was refused sent again. */
export function Prove() {
  const [open, setOpen] = useState(false);
  const answer = useRef<(proved: boolean) => void>(undefined);
  useEffect(
    () =>
      offerProof(
        () =>
          new Promise((done) => {
            answer.current = done;
            setOpen(true);
          }),
      ),
    [],
  );
  const finish = (proved: boolean) => {
    setOpen(false);
    answer.current?.(proved);
  };
  return (
    <Dialog open={open} onClose={() => finish(false)} title={words.auth.proveTitle}>
      <Ask onDone={() => finish(true)} onCancel={() => finish(false)} />
    </Dialog>
  );
}

function Ask({ onDone, onCancel }: { onDone: () => void; onCancel: () => void }) {
  const [code, setCode] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const prove = async () => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    try {
      await api.post("/user/second-factor/proof", { body: { code } });
      onDone();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Form onSubmit={() => void prove()}>
      <p className="muted">{words.auth.proveHelp}</p>
      <Field
        label={words.auth.factorCode}
        hint={words.auth.factorHint}
        autoComplete="one-time-code"
        required
        minLength={6}
        maxLength={50}
        value={code}
        wrong={fieldOf(error, "code")}
        onChange={(e) => setCode(e.target.value)}
      />
      <Problem error={error} fields={["code"]} />
      <div className="row end">
        <Button onClick={onCancel}>{words.ui.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {words.auth.prove}
        </Button>
      </div>
    </Form>
  );
}
