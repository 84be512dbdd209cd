import { useMutation } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api } from "../../api/client";
import { ApiError, statusOf } from "../../api/errors";
import { Button, Field } from "../../ui/Button";
import { explain } from "../../ui/states";
import { words } from "../../words/en";
import { Page } from "./Page";

const route = getRouteApi("/bare/reset-password");

/** Reset sets a new password with a mailed link, or asks for one. */
export function Reset() {
  const { token } = route.useSearch();
  return token ? <SetPassword token={token} /> : <AskForLink />;
}

function AskForLink() {
  const [email, setEmail] = useState("");
  const ask = useMutation({ mutationFn: () => api.post("/auth/forgot-password", { body: { email } }) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    ask.mutate();
  };
  return (
    <Page title={words.auth.forgotTitle}>
      {ask.isSuccess ? (
        <p role="status">{words.auth.linkSent}</p>
      ) : (
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
          {ask.error && (
            <p role="alert" className="wrong-text">
              {explain(ask.error).title} {explain(ask.error).help}
            </p>
          )}
          <Button type="submit" look="primary" busy={ask.isPending}>
            {words.auth.sendLink}
          </Button>
        </form>
      )}
      <p className="small">
        <Link to="/sign-in">{words.auth.signIn}</Link>
      </p>
    </Page>
  );
}

function SetPassword({ token }: { token: string }) {
  const [password, setPassword] = useState("");
  const set = useMutation({
    mutationFn: () => api.post("/auth/reset-password", { body: { token, newPassword: password } }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set.mutate();
  };
  const named = set.error instanceof ApiError ? set.error.field("newPassword") : undefined;
  const dead = statusOf(set.error) === 400 && !named;
  return (
    <Page title={words.auth.resetTitle}>
      {set.isSuccess ? (
        <p role="status">
          {words.auth.passwordSet} <Link to="/sign-in">{words.auth.signIn}</Link>
        </p>
      ) : (
        <form className="stack" onSubmit={submit}>
          <Field
            label={words.auth.newPassword}
            type="password"
            autoComplete="new-password"
            required
            minLength={10}
            maxLength={200}
            value={password}
            onChange={(e) => setPassword(e.target.value)}
            hint={words.auth.passwordHint}
            wrong={named}
          />
          {set.error && !named && (
            <p role="alert" className="wrong-text">
              {dead ? words.auth.badLink : explain(set.error).help}{" "}
              {dead && <Link to="/reset-password">{words.auth.sendLink}</Link>}
            </p>
          )}
          <Button type="submit" look="primary" busy={set.isPending}>
            {words.auth.setPassword}
          </Button>
        </form>
      )}
    </Page>
  );
}
