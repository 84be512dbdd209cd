import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { statusOf } from "../../api/errors";
import { useCountdown } from "../../auth/SignInForm";
import { Button, Field } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { Area, Form, fieldOf, Problem } from "../../ui/form";
import { askAccess as w } from "../../words/askAccess";
import { words } from "../../words/en";
import { Page } from "./Page";

const fields = ["email", "name", "company", "message"] as const;
type Asked = Record<(typeof fields)[number], string>;

/** AskAccess asks the people who run the server for access. The answer is the same for every address. */
export function AskAccess() {
  const [form, setForm] = useState<Asked>({ email: "", name: "", company: "", message: "" });
  const ask = useMutation({ mutationFn: () => api.post("/access-requests", { body: form }) });
  const wait = useCountdown(ask.error);
  const set = (name: keyof Asked) => (e: { target: { value: string } }) => setForm({ ...form, [name]: e.target.value });
  return (
    <Page title={w.title}>
      {ask.isSuccess ? (
        <p role="status">{w.received(clean(form.email, 254))}</p>
      ) : (
        <Form onSubmit={() => wait === 0 && ask.mutate()}>
          <p className="muted">{w.help}</p>
          <Field
            label={w.email}
            type="email"
            autoComplete="email"
            required
            maxLength={254}
            value={form.email}
            wrong={fieldOf(ask.error, "email")}
            onChange={set("email")}
          />
          <Field
            label={w.name}
            hint={w.optional}
            autoComplete="name"
            maxLength={100}
            value={form.name}
            wrong={fieldOf(ask.error, "name")}
            onChange={set("name")}
          />
          <Field
            label={w.company}
            hint={w.optional}
            autoComplete="organization"
            maxLength={100}
            value={form.company}
            wrong={fieldOf(ask.error, "company")}
            onChange={set("company")}
          />
          <Area
            label={w.message}
            hint={w.optional}
            rows={4}
            maxLength={2000}
            value={form.message}
            wrong={fieldOf(ask.error, "message")}
            onChange={set("message")}
          />
          {wait > 0 && (
            <p role="alert" className="notice">
              {wait <= 120 ? w.soon : w.later}
            </p>
          )}
          {/* A pause that is over needs no words: sending works again. */}
          {statusOf(ask.error) !== 429 && <Problem error={ask.error} fields={[...fields]} />}
          <Button type="submit" look="primary" busy={ask.isPending} refused={wait > 0 ? w.left(wait) : undefined}>
            {w.send}
          </Button>
        </Form>
      )}
      <p className="small">
        {words.auth.haveAccount} <Link to="/sign-in">{words.auth.signIn}</Link>
      </p>
    </Page>
  );
}
