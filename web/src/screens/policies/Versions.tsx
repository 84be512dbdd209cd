import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { ActDialog } from "../../app/act/ActDialog";
import { KeyChip } from "../../app/KeyChip";
import { useMay, useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { StatusBadge } from "../../ui/Badge";
import { Button, Choice } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { count } from "../../ui/format";
import { LineDiff } from "../../ui/LineDiff";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { typable } from "../../ui/typable";
import { policies as w } from "../../words/policies";
import { at, diffQuery, type Policy, readPolicy, textQuery, useAgain, type Version, versionsQuery } from "./queries";
import { RuleChanges } from "./RuleChanges";

const route = getRouteApi("/frame/policies/$id");

/** Versions are all that were written, how two of them differ, and the way back. */
export function Versions({ policy: p }: { policy: Policy }) {
  const org = useOrg();
  const versions = useQuery(versionsQuery(org.id, p.id));
  const [back, setBack] = useState<{ to: number; seen: Policy }>();
  return (
    <div className="stack">
      <Compare policy={p} />
      <section className="card">
        <Loaded query={versions}>
          {({ items }) => (
            <ul className="lines" aria-label={w.tabs.versions}>
              {items.map((v) => (
                <Line
                  key={v.policyVersion}
                  version={v}
                  policy={p}
                  onBack={() => setBack({ to: v.policyVersion, seen: p })}
                />
              ))}
            </ul>
          )}
        </Loaded>
      </section>
      {back && <Rollback policy={back.seen} to={back.to} onClose={() => setBack(undefined)} />}
    </div>
  );
}

function Line({ version: v, policy: p, onBack }: { version: Version; policy: Policy; onBack: () => void }) {
  const mayManage = useMay("policies.manage");
  const n = v.policyVersion;
  return (
    <li>
      <strong>{w.version(n)}</strong>
      {n === p.activeVersion && <StatusBadge word={w.active} />}
      {n === p.policyVersion && <StatusBadge word={w.latest} />}
      {n === p.shadowVersion && <StatusBadge word={w.shadow} />}
      <span className="grow small muted">
        {w.rules(count(v.rules))}, <Time at={v.writtenAt} form="absolute" /> {w.writtenBy[v.author.kind]}{" "}
        {v.author.kind === "user" ? <Person id={v.author.id} /> : v.author.id && <KeyChip id={v.author.id} />}
        {v.restoredFrom !== null && `, ${w.restored(v.restoredFrom)}`}
      </span>
      {n !== p.policyVersion && (
        <Button refused={mayManage ?? (p.face === "profile" ? w.confirmInstead : undefined)} onClick={onBack}>
          {w.rollback}
        </Button>
      )}
    </li>
  );
}

function Compare({ policy: p }: { policy: Policy }) {
  const { from, to } = route.useSearch();
  const navigate = route.useNavigate();
  const latest = p.policyVersion;
  const right = Math.min(Math.max(to ?? latest, 1), latest);
  const usual = p.activeVersion !== null && p.activeVersion !== latest ? p.activeVersion : Math.max(latest - 1, 1);
  const left = Math.min(Math.max(from ?? usual, 1), latest);
  const choose = (change: object) => void navigate({ to: ".", search: (old) => ({ ...old, ...change }) });
  const options = Array.from({ length: latest }, (_, i) => [String(i + 1), w.version(i + 1)] as const);
  return (
    <section className="card stack tight" aria-label={w.compare}>
      <h2>{w.compare}</h2>
      <div className="row wrap">
        <Choice
          label={w.compareFrom}
          value={String(left)}
          options={options}
          onChange={(v) => choose({ from: Number(v) })}
        />
        <Choice
          label={w.compareTo}
          value={String(right)}
          options={options}
          onChange={(v) => choose({ to: Number(v) })}
        />
      </div>
      {left !== right ? <Differences policy={p} from={left} to={right} /> : <p className="muted">{w.sameRules}</p>}
    </section>
  );
}

function Differences({ policy: p, from, to }: { policy: Policy; from: number; to: number }) {
  const org = useOrg();
  const changes = useQuery(diffQuery(org.id, p.id, from, to));
  const before = useQuery(textQuery(org.id, p.id, from)).data;
  const after = useQuery(textQuery(org.id, p.id, to)).data;
  return (
    <>
      <h3>{w.byRules}</h3>
      <Loaded query={changes}>{(list) => <RuleChanges changes={list} />}</Loaded>
      {before !== undefined && after !== undefined && before !== after && (
        <details>
          <summary>{w.byText}</summary>
          <LineDiff before={before} after={after} label={w.byText} />
        </details>
      )}
    </>
  );
}

function Rollback({ policy: p, to, onClose }: { policy: Policy; to: number; onClose: () => void }) {
  const org = useOrg();
  const again = useAgain();
  const active = p.activeVersion !== null;
  const changes = useQuery(diffQuery(org.id, p.id, p.activeVersion ?? p.policyVersion, to));
  return (
    <ActDialog<Policy>
      title={w.rollbackTitle(to, clean(p.name))}
      doneTitle={w.rollbackDone(clean(p.name))}
      act={w.rollbackAct}
      wide
      danger={active}
      type={active ? (typable(p.name) ? p.name : w.word) : undefined}
      onClose={onClose}
      onSettled={again}
      send={() =>
        api.post("/policies/{policyId}/rollback", {
          params: at(p.id),
          body: { version: to, ifActive: p.activeVersion ?? 0 },
        })
      }
      look={async () => {
        const now = await readPolicy(p.id);
        return now.policyVersion > p.policyVersion && now.restoredFrom === to ? now : undefined;
      }}
      done={(now) => <p>{w.rolledBack(now.policyVersion, now.activeVersion === now.policyVersion)}</p>}
    >
      <p className="muted">{w.rollbackMeans(active)}</p>
      <Loaded query={changes}>{(list) => <RuleChanges changes={list} />}</Loaded>
    </ActDialog>
  );
}
