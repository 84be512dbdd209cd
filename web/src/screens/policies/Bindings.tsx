import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { ActDialog } from "../../app/act/ActDialog";
import { useMay, useOrg } from "../../app/org";
import { fresh } from "../../app/queries";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { Area, Check } from "../../ui/form";
import { Loaded } from "../../ui/Loaded";
import { typable } from "../../ui/typable";
import { policies as w } from "../../words/policies";
import { BindingList } from "./BindingList";
import { at, type Bindings, bindingsQuery, type Policy, readBindings, useAgain } from "./queries";

const roles = ["owner", "admin", "approver", "member", "viewer"];
const sizeOf = (b: Bindings) => b.members.length + b.clients.length + b.roles.length;

/** BindingsTab is to whom a policy applies. */
export function BindingsTab({ policy: p }: { policy: Policy }) {
  const org = useOrg();
  const mayManage = useMay("policies.manage");
  const bindings = useQuery(bindingsQuery(org.id, p.id));
  // As they were when the dialog was opened: the page behind it reads them again.
  const [changing, setChanging] = useState<{ seen: Policy; has: Bindings }>();
  return (
    <section className="card stack tight">
      <p className="small muted">{w.bindingsMean}</p>
      <Loaded query={bindings}>
        {(b) => (
          <>
            <p>{sizeOf(b) === 0 ? w.everybody : w.boundTo}</p>
            <BindingList bindings={b} />
            <div className="row">
              <Button
                refused={mayManage ?? (p.face === "profile" ? w.confirmInstead : undefined)}
                onClick={() => setChanging({ seen: p, has: b })}
              >
                {w.change}
              </Button>
            </div>
          </>
        )}
      </Loaded>
      {changing && <Bind policy={changing.seen} has={changing.has} onClose={() => setChanging(undefined)} />}
    </section>
  );
}

const membersQuery = (org: string) => ({
  queryKey: [org, "policies", "members"],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (
      await api.get("/organization/{orgId}/members", {
        params: { path: { orgId: org }, query: { limit: 200 } },
        signal,
      })
    ).items,
  staleTime: fresh.settings,
});

const sorted = (list: readonly string[]) => [...new Set(list)].sort();
const same = (a: Bindings, b: Bindings) =>
  (["members", "clients", "roles"] as const).every((k) => sorted(a[k]).join("\n") === sorted(b[k]).join("\n"));

function Bind({ policy: p, has, onClose }: { policy: Policy; has: Bindings; onClose: () => void }) {
  const org = useOrg();
  const again = useAgain();
  const people = useQuery(membersQuery(org.id)).data ?? [];
  const [all, setAll] = useState(sizeOf(has) === 0);
  const [members, setMembers] = useState(new Set(has.members));
  const [chosen, setChosen] = useState(new Set(has.roles));
  const [clients, setClients] = useState(has.clients.join("\n"));
  const named: Bindings = {
    members: [...members],
    roles: [...chosen],
    clients: clients
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean),
  };
  const wanted = all ? { members: [], clients: [], roles: [] } : named;
  const flip = (set: Set<string>, id: string, on: boolean) => {
    const next = new Set(set);
    if (on) next.add(id);
    else next.delete(id);
    return next;
  };
  const missing = !all && sizeOf(named) === 0 ? w.nobodyNamed : same(wanted, has) ? w.asBefore : undefined;
  return (
    <ActDialog<Bindings>
      title={w.bindTitle(clean(p.name))}
      act={w.bindAct}
      type={p.activeVersion !== null ? (typable(p.name) ? p.name : w.word) : undefined}
      missing={missing}
      onClose={onClose}
      onSettled={again}
      send={() =>
        api.put("/policies/{policyId}/bindings", {
          params: at(p.id),
          body: { ...(all ? { everybody: true } : wanted), replaces: has },
        })
      }
      look={async () => {
        const now = await readBindings(p.id);
        return same(now, wanted) ? now : undefined;
      }}
      done={() => <p>{w.bound}</p>}
    >
      <p className="muted">{p.activeVersion !== null ? w.bindMeansActive : w.bindMeansInactive}</p>
      <fieldset className="policy-choice">
        <legend className="hidden-text">{w.forWhom}</legend>
        <label>
          <input type="radio" name="whom" checked={all} onChange={() => setAll(true)} /> {w.toEverybody}
        </label>
        <label>
          <input type="radio" name="whom" checked={!all} onChange={() => setAll(false)} /> {w.toSome}
        </label>
      </fieldset>
      {!all && (
        <>
          <fieldset className="policy-choice">
            <legend>{w.rolesLabel}</legend>
            {roles.map((role) => (
              <Check
                key={role}
                label={role}
                checked={chosen.has(role)}
                onChange={(on) => setChosen(flip(chosen, role, on))}
              />
            ))}
          </fieldset>
          <fieldset className="policy-choice">
            <legend>{w.membersLabel}</legend>
            {people.map((m) => (
              <Check
                key={m.userId}
                label={clean(m.name || m.email)}
                checked={members.has(m.userId)}
                onChange={(on) => setMembers(flip(members, m.userId, on))}
              />
            ))}
          </fieldset>
          <Area
            label={w.clientsLabel}
            hint={w.clientsHint}
            rows={3}
            value={clients}
            spellCheck={false}
            onChange={(e) => setClients(e.target.value)}
          />
        </>
      )}
    </ActDialog>
  );
}
