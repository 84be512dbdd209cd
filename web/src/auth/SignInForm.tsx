import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { ApiError, statusOf } from "../api/errors";
import { Button, Field } from "../ui/Button";
import { explain } from "../ui/states";
import { words } from "../words/en";
import { FactorForm } from "./FactorForm";
import { login } from "./session";

interface SignInFormProps {
  email?: string | undefined;
  onDone: () => void;
  children?: ReactNode;
}

/** SignInForm signs in with a password. What was typed stays when it fails. */
export function SignInForm({ email: first = "", onDone, children }: SignInFormProps) {
  const [email, setEmail] = useState(first);
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [challenge, setChallenge] = useState<string>();
  const wait = useCountdown(error);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy || wait > 0) return;
    setBusy(true);
    setError(undefined);
    try {
      const awaited = await login(email, password);
      setChallenge(awaited);
      if (awaited === undefined) onDone();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  if (challenge !== undefined)
    return <FactorForm challenge={challenge} onDone={onDone} onBack={() => setChallenge(undefined)} />;
  return (
    <form className="stack" onSubmit={submit}>
      <Field
        label={words.auth.email}
        type="email"
        name="email"
        autoComplete="username"
        required
        maxLength={254}
        value={email}
        onChange={(e) => setEmail(e.target.value)}
      />
      <Field
        label={words.auth.password}
        type="password"
        name="password"
        autoComplete="current-password"
        autoFocus={first !== ""}
        required
        maxLength={1000}
        value={password}
        onChange={(e) => setPassword(e.target.value)}
      />
      {error !== undefined && (
        <p role="alert" className="wrong-text">
          {saying(error, wait)}
        </p>
      )}
      <Button type="submit" look="primary" busy={busy} refused={wait > 0 ? words.auth.throttled(wait) : undefined}>
        {words.auth.signIn}
      </Button>
      {children}
    </form>
  );
}

function saying(error: unknown, wait: number): string {
  if (statusOf(error) === 401) return words.auth.wrong;
  if (wait > 0) return words.auth.throttled(wait);
  return `${explain(error).title} ${explain(error).help}`;
}

/** useCountdown is how many seconds a refusal still holds. */
export function useCountdown(error: unknown): number {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    if (!(error instanceof ApiError) || error.status !== 429) {
      setLeft(0);
      return;
    }
    const until = Date.now() + Math.max(1, error.retryAfter) * 1000;
    const tick = () => setLeft(Math.max(0, Math.ceil((until - Date.now()) / 1000)));
    tick();
    const timer = setInterval(tick, 500);
    return () => clearInterval(timer);
  }, [error]);
  return left;
}
