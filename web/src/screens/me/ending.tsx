import { useState } from "react";
import { api } from "../../api/client";
import { download } from "../../app/download";
import { useMe } from "../../app/org";
import { leave } from "../../auth/session";
import { Button, Field } from "../../ui/Button";
import { ConfirmDialog } from "../../ui/Dialog";
import { account as w } from "../../words/account";
import { Heirs } from "./Heirs";
import { keysTo } from "./heir";

/** Ending gives the person their data, and ends the account. */
export function Ending() {
  const { user } = useMe();
  const [open, setOpen] = useState(false);
  const [password, setPassword] = useState("");
  const [heirs, setHeirs] = useState<Record<string, string>>({});
  const end = async () => {
    await api.delete("/user", { body: { password, confirm: user.email, keysTo: keysTo(heirs) } });
    await leave();
  };
  return (
    <section className="card stack">
      <div>
        <h2>{w.data}</h2>
        <p className="muted">{w.dataHelp}</p>
      </div>
      <div className="row">
        <Button onClick={() => void download("/user/export", w.fileName)}>{w.export}</Button>
      </div>
      <div>
        <h3>{w.end}</h3>
        <p className="muted">{w.endHelp}</p>
      </div>
      <div className="row">
        <Button look="danger" onClick={() => setOpen(true)}>
          {w.end}
        </Button>
      </div>
      <ConfirmDialog
        open={open}
        onClose={() => {
          setPassword("");
          setHeirs({});
          setOpen(false);
        }}
        title={w.endTitle}
        act={w.end}
        danger
        type={user.email}
        onConfirm={end}
      >
        <p>
          {w.endHelp} {w.endForGood}
        </p>
        <Heirs chosen={heirs} onChoose={setHeirs} />
        <Field
          label={w.passwordAgain}
          type="password"
          autoComplete="current-password"
          maxLength={1000}
          value={password}
          onChange={(e) => setPassword(e.target.value)}
        />
      </ConfirmDialog>
    </section>
  );
}
