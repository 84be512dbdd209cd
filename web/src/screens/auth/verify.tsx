import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { api } from "../../api/client";
import { optionsQuery } from "../../app/queries";
import { safeNext } from "../../auth/next";
import { login } from "../../auth/session";
import { Button, Field } from "../../ui/Button";
import { explain } from "../../ui/states";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { Page } from "./Page";

const route = getRouteApi("/bare/verify");

// The password of the registration on its way to the next page, so that nobody types it twice.
let held = "";
export function holdPassword(password: string): void {
  held = password;
}

/** Verify confirms an address with the code that was mailed, and signs in. */
export function Verify() {
  const search = route.useSearch();
  const router = useRouter();
  const options = useQuery(optionsQuery);
  const [email, setEmail] = useState(search.email ?? "");
  const [code, setCode] = useState("");
  const [password, setPassword] = useState(held);
  const [typesPassword] = useState(held === "");
  // Who leaves the page takes the password along.
  useEffect(() => {
    held = "";
  }, []);
  const verify = useMutation({
    mutationFn: async () => {
      await api.post("/auth/verify-otp", { body: { email, code: code.trim(), password } });
      await login(email, password);
    },
    onSuccess: () => router.history.replace(`/ui${safeNext(search.next)}`),
  });
  const resend = useMutation({
    mutationFn: () => api.post("/auth/resend-otp", { body: { email } }),
    onSuccess: () => toast(words.auth.resent),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    verify.mutate();
  };
  const error = verify.error ?? resend.error;
  return (
    <Page title={words.auth.verifyTitle}>
      {search.email && <p>{words.auth.verifyHelp(search.email)}</p>}
      {options.data?.mail === "outbox" && <p className="small muted">{words.auth.outbox}</p>}
      {options.data?.mail === "none" && <p className="small muted">{words.auth.noMail}</p>}
      <form className="stack" onSubmit={submit}>
        {!search.email && (
          <Field
            label={words.auth.email}
            type="email"
            required
            value={email}
            onChange={(e) => setEmail(e.target.value)}
          />
        )}
        <Field
          label={words.auth.code}
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          maxLength={20}
          value={code}
          onChange={(e) => setCode(e.target.value)}
        />
        {typesPassword && (
          <Field
            label={words.auth.password}
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(e) => setPassword(e.target.value)}
          />
        )}
        {error && (
          <p role="alert" className="wrong-text">
            {explain(error).title} {explain(error).help}
          </p>
        )}
        <Button type="submit" look="primary" busy={verify.isPending}>
          {words.auth.verify}
        </Button>
        <Button busy={resend.isPending} onClick={() => resend.mutate()}>
          {words.auth.resend}
        </Button>
      </form>
    </Page>
  );
}
