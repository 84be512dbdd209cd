import { type FormEvent, useState } from "react";
import { statusOf } from "../api/errors";
import { Button, Field } from "../ui/Button";
import { explain } from "../ui/states";
import { words } from "../words/en";
import { finishLogin } from "./session";

interface FactorFormProps {
  challenge: string;
  onDone: () => void;
  /** The sign-in took too long, or is begun anew. */
  onBack: () => void;
}

/** FactorForm finishes a sign-in with a code of the second factor. */
export function FactorForm({ challenge, onDone, onBack }: FactorFormProps) {
  const [code, setCode] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(undefined);
    try {
      await finishLogin(challenge, code);
      onDone();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="stack" onSubmit={submit}>
      <p className="muted">{words.auth.factorHelp}</p>
      <Field
        label={words.auth.factorCode}
        hint={words.auth.factorHint}
        name="code"
        autoComplete="one-time-code"
        autoFocus
        required
        minLength={6}
        maxLength={50}
        value={code}
        onChange={(e) => setCode(e.target.value)}
      />
      {error !== undefined && (
        <p role="alert" className="wrong-text">
          {statusOf(error) === 401 ? words.auth.factorWrong : `${explain(error).title} ${explain(error).help}`}
        </p>
      )}
      <Button type="submit" look="primary" busy={busy}>
        {words.auth.signIn}
      </Button>
      <Button onClick={onBack}>{words.auth.beginAgain}</Button>
    </form>
  );
}
