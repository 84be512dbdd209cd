import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { Button, Choice, Field } from "../../ui/Button";
import { IdChip } from "../../ui/CopyButton";
import { clean } from "../../ui/clean";
import { ConfirmDialog, Dialog } from "../../ui/Dialog";
import { Check, Form, fieldOf, Problem, SecretOnce } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { typable } from "../../ui/typable";
import { words } from "../../words/en";
import { type Key, keysQuery } from "./queries";

const w = words.settings;
type Issued = Body<"IssuedKeyBody">;

const scopes = ["ingest", "enforce", "audit", "delegation.request", "profile.propose", "policy.draft"] as const;
const usual: string[] = scopes.slice(0, 4);
const day = 86_400_000;

/** Once shows a new key, the only time. It cannot be clicked away. */
function Once({ issued, onClose }: { issued: Issued; onClose: () => void }) {
  return (
    <Dialog open onClose={() => {}} title={w.keyMade(clean(issued.name, 60))}>
      <SecretOnce secret={issued.apiKey} onDone={onClose} />
    </Dialog>
  );
}

function useAgain() {
  const org = useOrg();
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: keysQuery(org.id).queryKey });
}

/** MakeKey makes a key and shows it once. */
export function MakeKey({ onClose }: { onClose: () => void }) {
  const org = useOrg();
  const again = useAgain();
  const [name, setName] = useState("");
  const [environment, setEnvironment] = useState<"sandbox" | "production">("sandbox");
  const [chosen, setChosen] = useState(usual);
  const [expiry, setExpiry] = useState("never");
  const make = useMutation({
    mutationFn: () =>
      api.post("/api-keys", {
        body: {
          name,
          organizationId: org.id,
          environment,
          scopes: chosen as never,
          ...(expiry === "never" ? {} : { expiresAt: new Date(Date.now() + Number(expiry) * day).toISOString() }),
        },
      }),
    onSuccess: again,
  });
  if (make.data) return <Once issued={make.data} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={w.makeKey}>
      <Form onSubmit={() => make.mutate()}>
        <Field
          label={w.keyName}
          hint={w.keyNameHint}
          required
          maxLength={100}
          value={name}
          wrong={fieldOf(make.error, "name")}
          onChange={(e) => setName(e.target.value)}
        />
        <div className="setting-pair">
          <Choice
            label={w.keyEnvironment}
            value={environment}
            onChange={setEnvironment}
            options={(["sandbox", "production"] as const).map((e) => [e, w.environments[e] ?? e] as const)}
          />
          <Choice
            label={w.keyExpires}
            value={expiry}
            onChange={setExpiry}
            options={["never", "7", "30", "90", "365"].map((e) => [e, w.expiries[e] ?? e] as const)}
          />
        </div>
        <fieldset className="setting-group">
          <legend>{w.keyScopes}</legend>
          {scopes.map((scope) => (
            <Check
              key={scope}
              label={words.auth.scopes[scope] ?? scope}
              checked={chosen.includes(scope)}
              onChange={(on) => setChosen(on ? [...chosen, scope] : chosen.filter((s) => s !== scope))}
            />
          ))}
        </fieldset>
        <Problem error={make.error} fields={["name"]} />
        <div className="row end">
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button type="submit" look="primary" busy={make.isPending}>
            {w.makeKey}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** RotateKey replaces a key by a new one, and shows it once. */
export function RotateKey({ old, onClose }: { old: Key; onClose: () => void }) {
  const again = useAgain();
  const [issued, setIssued] = useState<Issued>();
  if (issued) return <Once issued={issued} onClose={onClose} />;
  return (
    <ConfirmDialog
      open
      onClose={() => issued === undefined && onClose()}
      title={w.rotateTitle(clean(old.name, 60))}
      act={w.rotate}
      keepOpen
      onConfirm={async () => {
        setIssued(await api.post("/api-keys/{id}/rotate", { params: { path: { id: old.id } } }));
        await again();
      }}
    >
      <p>{w.rotateHelp}</p>
    </ConfirmDialog>
  );
}

/** RevokeKey ends a key for good. Where others have its name, the end of its id is typed instead. */
export function RevokeKey({ old, alike, onClose }: { old: Key; alike: boolean; onClose: () => void }) {
  const again = useAgain();
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={w.revokeTitle(clean(old.name, 60))}
      act={w.revoke}
      danger
      type={alike ? old.id.slice(-4) : typable(old.name) ? old.name : w.revoke.toLowerCase()}
      onConfirm={async () => {
        await api.post("/api-keys/{id}/revoke", { params: { path: { id: old.id } } });
        toast(w.revoked);
        await again();
      }}
    >
      <p>{w.revokeHelp}</p>
      <p className="row">
        {w.revokeOwner} <Person id={old.ownerId} /> <IdChip id={old.id} />
      </p>
      {alike && <p className="muted">{w.revokeAlike}</p>}
    </ConfirmDialog>
  );
}
