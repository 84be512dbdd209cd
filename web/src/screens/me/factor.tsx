import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { Button, Field } from "../../ui/Button";
import { CopyButton } from "../../ui/CopyButton";
import { ConfirmDialog, Dialog } from "../../ui/Dialog";
import { Form, fieldOf, Problem } from "../../ui/form";
import { ErrorPanel, SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { account as w } from "../../words/account";
import { Qr } from "./Qr";
import { factorQuery } from "./queries";

/** SecondFactor adds, renews and removes the second factor. */
export function SecondFactor() {
  const client = useQueryClient();
  const factor = useQuery(factorQuery);
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState(false);
  const [renewing, setRenewing] = useState(false);
  const [codes, setCodes] = useState<string[]>();
  const again = () => client.invalidateQueries({ queryKey: factorQuery.queryKey });
  return (
    <section className="card stack">
      <div>
        <h2>{w.factor}</h2>
        <p className="muted">{w.factorHelp}</p>
      </div>
      {factor.data?.enrolled ? (
        <>
          <p>
            {w.factorSince} <Time at={factor.data.since ?? ""} form="absolute" />.{" "}
            {w.codesLeft(factor.data.recoveryCodes)}
          </p>
          <div className="row wrap">
            <Button onClick={() => setRenewing(true)}>{w.renew}</Button>
            <Button look="danger" onClick={() => setRemoving(true)}>
              {w.remove}
            </Button>
          </div>
        </>
      ) : factor.data ? (
        <>
          <p>{w.factorOff}</p>
          <div className="row">
            <Button onClick={() => setAdding(true)}>{w.add}</Button>
          </div>
        </>
      ) : factor.error ? (
        <ErrorPanel error={factor.error} retry={() => void factor.refetch()} />
      ) : (
        <SkeletonLines lines={2} />
      )}
      <Dialog open={adding} onClose={() => setAdding(false)} title={w.addTitle}>
        <Add
          onDone={(made) => {
            setAdding(false);
            setCodes(made);
            void again();
          }}
        />
      </Dialog>
      <Renew
        open={renewing}
        onClose={() => setRenewing(false)}
        onDone={(made) => {
          setRenewing(false);
          setCodes(made);
          void again();
        }}
      />
      <Codes codes={codes} onDone={() => setCodes(undefined)} />
      <ConfirmDialog
        open={removing}
        onClose={() => setRemoving(false)}
        title={w.removeTitle}
        act={w.remove}
        danger
        onConfirm={async () => {
          await api.delete("/user/second-factor");
          toast(w.removed);
          await again();
        }}
      >
        <p>{w.removeHelp}</p>
      </ConfirmDialog>
    </section>
  );
}

function Add({ onDone }: { onDone: (codes: string[]) => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const begin = useMutation({ mutationFn: () => api.post("/user/second-factor", { body: { password } }) });
  const confirm = useMutation({
    mutationFn: () => api.post("/user/second-factor/confirm", { body: { code } }),
    onSuccess: (made) => onDone(made.codes),
  });
  if (!begin.data)
    return (
      <Form onSubmit={() => begin.mutate()}>
        <Field
          label={w.passwordAgain}
          type="password"
          autoComplete="current-password"
          maxLength={1000}
          value={password}
          wrong={fieldOf(begin.error, "password")}
          onChange={(e) => setPassword(e.target.value)}
        />
        <Problem error={begin.error} fields={["password"]} />
        <div className="row end">
          <Button type="submit" look="primary" busy={begin.isPending}>
            {w.goOn}
          </Button>
        </div>
      </Form>
    );
  return (
    <Form onSubmit={() => confirm.mutate()}>
      <p>{w.scan}</p>
      <Qr text={begin.data.uri} label={w.picture} />
      <p className="row wrap">
        {w.secret} <code className="factor-secret">{begin.data.secret}</code>{" "}
        <CopyButton text={begin.data.secret} what={w.secret} />
      </p>
      <Field
        label={w.firstCode}
        autoComplete="one-time-code"
        inputMode="numeric"
        required
        minLength={6}
        maxLength={6}
        value={code}
        wrong={fieldOf(confirm.error, "code")}
        onChange={(e) => setCode(e.target.value)}
      />
      <Problem error={confirm.error} fields={["code"]} />
      <div className="row end">
        <Button type="submit" look="primary" busy={confirm.isPending}>
          {w.confirm}
        </Button>
      </div>
    </Form>
  );
}

interface RenewProps {
  open: boolean;
  onClose: () => void;
  onDone: (codes: string[]) => void;
}

/** Renew asks before the codes that somebody keeps stop working. */
function Renew({ open, onClose, onDone }: RenewProps) {
  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={w.renewTitle}
      act={w.renewAct}
      keepOpen
      onConfirm={async () => onDone((await api.post("/user/second-factor/recovery-codes")).codes)}
    >
      <p>{w.renewHelp}</p>
    </ConfirmDialog>
  );
}

/** Codes shows recovery codes once. It closes by its button alone, so that a slip does not lose them. */
function Codes({ codes, onDone }: { codes: string[] | undefined; onDone: () => void }) {
  return (
    <Dialog open={codes !== undefined} onClose={() => {}} title={w.codesTitle}>
      <p>{w.codesHelp}</p>
      <ul className="recovery">
        {codes?.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className="row end">
        <CopyButton text={codes?.join("\n") ?? ""} what={w.codesTitle} />
        <Button look="primary" onClick={onDone}>
          {w.codesKept}
        </Button>
      </div>
    </Dialog>
  );
}
