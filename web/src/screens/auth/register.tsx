import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api } from "../../api/client";
import { ApiError } from "../../api/errors";
import { optionsQuery } from "../../app/queries";
import { Button, Field } from "../../ui/Button";
import { explain } from "../../ui/states";
import { words } from "../../words/en";
import { AskInstead } from "./AskInstead";
import { Page } from "./Page";
import { holdPassword } from "./verify";

const route = getRouteApi("/bare/register");

/** Register makes an account. A code is mailed to the address. */
export function Register() {
  const { next, token } = route.useSearch();
  const options = useQuery(optionsQuery);
  const navigate = useNavigate();
  const [form, setForm] = useState({ name: "", email: "", password: "" });
  const register = useMutation({
    mutationFn: () => api.post("/auth/register", { body: { ...form, ...(token ? { inviteToken: token } : {}) } }),
    onSuccess: () => {
      holdPassword(form.password);
      return navigate({
        to: "/verify",
        search: { email: form.email, next: token?.startsWith("inv_") ? `/invites/accept?token=${token}` : next },
      });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    register.mutate();
  };
  const wrong = (field: string) => (register.error instanceof ApiError ? register.error.field(field) : undefined);
  const set = (name: keyof typeof form) => (e: { target: { value: string } }) =>
    setForm({ ...form, [name]: e.target.value });
  const named = (["name", "email", "password"] as const).some(wrong);
  return (
    <Page title={words.auth.registerTitle}>
      {options.data && !options.data.signUp && !token && (
        <>
          <p>{words.auth.closed}</p>
          <AskInstead />
        </>
      )}
      <form className="stack" onSubmit={submit}>
        <Field
          label={words.auth.name}
          autoComplete="name"
          maxLength={100}
          value={form.name}
          onChange={set("name")}
          wrong={wrong("name")}
        />
        <Field
          label={words.auth.email}
          type="email"
          autoComplete="username"
          required
          maxLength={254}
          value={form.email}
          onChange={set("email")}
          wrong={wrong("email")}
        />
        <Field
          label={words.auth.password}
          type="password"
          autoComplete="new-password"
          required
          minLength={10}
          maxLength={200}
          value={form.password}
          onChange={set("password")}
          hint={words.auth.passwordHint}
          wrong={wrong("password")}
        />
        {register.error && !named && (
          <p role="alert" className="wrong-text">
            {explain(register.error).title} {explain(register.error).help}
          </p>
        )}
        <Button type="submit" look="primary" busy={register.isPending}>
          {words.auth.register}
        </Button>
      </form>
      <p className="small">
        {words.auth.haveAccount}{" "}
        <Link to="/sign-in" search={next ? { next } : {}}>
          {words.auth.signIn}
        </Link>
      </p>
    </Page>
  );
}
