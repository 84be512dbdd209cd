import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { Button, Field } from "../../ui/Button";
import { Form, fieldOf, Problem } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { sessionsQuery } from "./queries";

const w = words.me;

/** ChangePassword sets another password, which ends what the old one opened. */
export function ChangePassword() {
  const client = useQueryClient();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const change = useMutation({
    mutationFn: () => api.post("/auth/change-password", { body: { currentPassword: current, newPassword: next } }),
    onSuccess: () => {
      setCurrent("");
      setNext("");
      toast(w.changed);
      return client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
  });
  const wrong = fieldOf(change.error, "currentPassword") && w.wrongPassword;
  return (
    <section className="card stack">
      <div>
        <h2>{w.password}</h2>
        <p className="muted">{w.passwordHelp}</p>
      </div>
      <Form onSubmit={() => change.mutate()}>
        <Field
          label={w.current}
          type="password"
          autoComplete="current-password"
          required
          maxLength={1000}
          value={current}
          wrong={wrong}
          onChange={(e) => setCurrent(e.target.value)}
        />
        <Field
          label={w.next}
          type="password"
          autoComplete="new-password"
          required
          minLength={10}
          maxLength={200}
          hint={words.auth.passwordHint}
          value={next}
          wrong={fieldOf(change.error, "newPassword")}
          onChange={(e) => setNext(e.target.value)}
        />
        <Problem error={change.error} fields={["currentPassword", "newPassword"]} />
        <div className="row">
          <Button type="submit" busy={change.isPending}>
            {w.change}
          </Button>
        </div>
      </Form>
    </section>
  );
}
