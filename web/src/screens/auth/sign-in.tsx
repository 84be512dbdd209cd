import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useRouter } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { optionsQuery } from "../../app/queries";
import { keepNext, safeNext } from "../../auth/next";
import { SignInForm } from "../../auth/SignInForm";
import { getSession, keepSigningOut, restore, signOutIsUnsent } from "../../auth/session";
import { useSession } from "../../auth/useSession";
import { Button, Field } from "../../ui/Button";
import { SkeletonLines } from "../../ui/states";
import { words } from "../../words/en";
import { AskInstead } from "./AskInstead";
import { Page } from "./Page";

const route = getRouteApi("/bare/sign-in");

/** SignIn lets a person in: with a password, with Google, or with their organization. */
export function SignIn() {
  const { next, email, problem } = route.useSearch();
  const router = useRouter();
  const known = useKnown();
  const session = useSession();
  const done = () => router.history.replace(`/ui${safeNext(next)}`);
  const options = useQuery(optionsQuery);
  const [elsewhere, setElsewhere] = useState(false);
  if (!known) {
    return (
      <Page title={words.auth.signingIn}>
        <SkeletonLines lines={3} />
      </Page>
    );
  }
  if (session.state === "in") return <GoOn to={done} />;
  return (
    <Page title={words.auth.signInTo}>
      <Unsent />
      {problem && (
        <p role="alert" className="wrong-text">
          {words.auth.exchangeFailed}
        </p>
      )}
      {elsewhere ? <WithOrganization next={next} /> : <SignInForm email={email} onDone={done} />}
      {options.data?.google && (
        <a className="button" href="/auth/google" onClick={() => keepNext(next)}>
          {words.auth.google}
        </a>
      )}
      <Button onClick={() => setElsewhere(!elsewhere)}>
        {elsewhere ? words.auth.withPassword : words.auth.provider}
      </Button>
      <p className="small">
        <Link to="/reset-password">{words.auth.forgot}</Link>
      </p>
      {options.data?.signUp && (
        <p className="small">
          {words.auth.noAccount}{" "}
          <Link to="/register" search={next ? { next } : {}}>
            {words.auth.register}
          </Link>
        </p>
      )}
      {options.data?.signUp === false && <AskInstead />}
    </Page>
  );
}

function GoOn({ to }: { to: () => void }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, on arrival
  useEffect(to, []);
  return null;
}

/** Unsent says that the server does not know of a sign-out yet, and goes on telling it. */
function Unsent() {
  const [unsent, setUnsent] = useState(false);
  useEffect(() => {
    return keepSigningOut(() => setUnsent(false));
  }, []);
  useEffect(() => {
    // The server usually hears of it at once.
    const timer = setTimeout(() => setUnsent(signOutIsUnsent()), 1000);
    return () => clearTimeout(timer);
  }, []);
  if (!unsent) return null;
  return (
    <p role="alert" className="notice">
      {words.auth.signOutUnsent}
    </p>
  );
}

function WithOrganization({ next }: { next: string | undefined }) {
  const [email, setEmail] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    keepNext(next);
    location.assign(`/auth/oidc?email=${encodeURIComponent(email)}`);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <Field
        label={words.auth.email}
        type="email"
        autoComplete="username"
        required
        maxLength={254}
        value={email}
        onChange={(e) => setEmail(e.target.value)}
      />
      <Button type="submit" look="primary">
        {words.auth.provider}
      </Button>
    </form>
  );
}

/** useKnown finds out whether somebody is signed in already. */
function useKnown(): boolean {
  const [known, setKnown] = useState(getSession().state !== "unknown");
  useEffect(() => {
    restore().then(
      () => setKnown(true),
      () => setKnown(true),
    );
  }, []);
  return known;
}
