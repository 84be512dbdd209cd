import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { meQuery } from "../../app/queries";
import { Button, Field } from "../../ui/Button";
import { Form, fieldOf, Problem } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { account as w } from "../../words/account";

/** ChangeAddress gives the account another address, with a code from each of the two. */
export function ChangeAddress() {
  const client = useQueryClient();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [sent, setSent] = useState<string>();
  const [currentCode, setCurrent] = useState("");
  const [newCode, setNew] = useState("");
  const begin = useMutation({
    mutationFn: () => api.post("/user/email", { body: { email, password } }),
    onSuccess: () => {
      setSent(email);
      setPassword("");
    },
  });
  const confirm = useMutation({
    mutationFn: () => api.post("/user/email/confirm", { body: { currentCode, newCode } }),
    onSuccess: () => {
      setSent(undefined);
      setEmail("");
      toast(w.addressChanged);
      return client.invalidateQueries({ queryKey: meQuery.queryKey });
    },
  });
  return (
    <section className="card stack">
      <div>
        <h2>{w.address}</h2>
        <p className="muted">{w.addressHelp}</p>
      </div>
      {sent === undefined ? (
        <Form onSubmit={() => begin.mutate()}>
          <Field
            label={w.newAddress}
            type="email"
            autoComplete="off"
            required
            maxLength={254}
            value={email}
            wrong={fieldOf(begin.error, "email")}
            onChange={(e) => setEmail(e.target.value)}
          />
          <Field
            label={w.passwordAgain}
            type="password"
            autoComplete="current-password"
            maxLength={1000}
            value={password}
            wrong={fieldOf(begin.error, "password")}
            onChange={(e) => setPassword(e.target.value)}
          />
          <Problem error={begin.error} fields={["email", "password"]} />
          <div className="row">
            <Button type="submit" busy={begin.isPending}>
              {w.sendCodes}
            </Button>
          </div>
        </Form>
      ) : (
        <Form onSubmit={() => confirm.mutate()}>
          <p role="status">{w.codesSent(sent)}</p>
          <Field
            label={w.presentCode}
            autoComplete="off"
            required
            maxLength={20}
            value={currentCode}
            onChange={(e) => setCurrent(e.target.value)}
          />
          <Field
            label={w.newCode}
            autoComplete="off"
            required
            maxLength={20}
            value={newCode}
            onChange={(e) => setNew(e.target.value)}
          />
          <Problem error={confirm.error} />
          <div className="row">
            <Button type="submit" busy={confirm.isPending}>
              {w.changeAddress}
            </Button>
          </div>
        </Form>
      )}
    </section>
  );
}
