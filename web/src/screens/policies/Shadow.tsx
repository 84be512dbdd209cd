import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { ActDialog } from "../../app/act/ActDialog";
import { linkTo } from "../../app/link";
import { useMay, useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { count } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { policies as w } from "../../words/policies";
import { at, type Policy, readPolicy, type Stats, statsQuery, useAgain } from "./queries";
import { refuses } from "./says";

/** ShadowTab runs a version beside the active ones, and shows what it would have led to. */
export function ShadowTab({ policy: p }: { policy: Policy }) {
  const org = useOrg();
  const mayManage = useMay("policies.manage");
  const stats = useQuery({ ...statsQuery(org.id, p.id, p.shadowVersion), refetchInterval: 3000 });
  const [doing, setDoing] = useState<{ act: "start" | "end"; seen: Policy }>();
  const close = () => setDoing(undefined);
  const runs = p.shadowVersion === p.policyVersion;
  return (
    <div className="stack">
      <section className="card stack tight">
        <p className="small muted">{w.shadowMean}</p>
        <p>
          {p.shadowVersion !== null ? w.shadowIs(p.shadowVersion) : w.noShadowNow}{" "}
          {p.shadowSince && <Time at={p.shadowSince} form="absolute" />}
        </p>
        <div className="row wrap">
          {!runs && (
            <Button
              look="primary"
              refused={mayManage ?? (p.activeVersion === p.policyVersion ? w.alreadyActive : undefined)}
              onClick={() => setDoing({ act: "start", seen: p })}
            >
              {w.startShadow(p.policyVersion)}
            </Button>
          )}
          {p.shadowVersion !== null && (
            <Button refused={mayManage} onClick={() => setDoing({ act: "end", seen: p })}>
              {w.endShadow}
            </Button>
          )}
        </div>
      </section>
      <Loaded query={stats}>{(s) => <Figures policy={p} stats={s} />}</Loaded>
      {doing?.act === "start" && <Start policy={doing.seen} onClose={close} />}
      {doing?.act === "end" && <End policy={doing.seen} onClose={close} />}
    </div>
  );
}

function Figures({ policy: p, stats: s }: { policy: Policy; stats: Stats }) {
  // The log lists by policy and rule what these refused, and nothing that they allowed.
  const open = (search: object) => linkTo("/decisions", { policy: p.id, range: "7d", ...search });
  return (
    <>
      <section className="card stack tight" aria-label={w.shadowFigures(p.shadowVersion)}>
        <h2>{w.shadowFigures(p.shadowVersion)}</h2>
        <ul className="policy-figures">
          {(
            [
              [w.shadowCalls, s.shadow?.calls],
              [w.wouldDeny, s.shadow?.wouldDeny],
              [w.wouldHold, s.shadow?.wouldHold],
              [w.wouldAllow, s.shadow?.wouldAllow],
            ] as const
          ).map(([name, n]) => (
            <li key={name}>
              <strong>{count(n ?? 0)}</strong>
              <span className="muted">{name}</span>
            </li>
          ))}
        </ul>
        <p className="small faint">{w.soon}</p>
      </section>
      <section className="card stack tight" aria-label={w.figures}>
        <h2>{w.figures}</h2>
        <ul className="policy-figures">
          <li>
            <strong>{count(s.calls)}</strong>
            <span className="muted">{w.calls}</span>
          </li>
          <li>
            <strong>{count(s.allowed)}</strong>
            <span className="muted">{w.allowed}</span>
          </li>
          <li>
            <strong>
              <Link {...open({ decision: ["deny"] })}>{count(s.denied)}</Link>
            </strong>
            <span className="muted">{w.denied}</span>
          </li>
        </ul>
        {s.topMatchedRules.length === 0 ? (
          <p className="muted">{w.noHits}</p>
        ) : (
          <ul className="lines" aria-label={w.topRules}>
            {s.topMatchedRules.map((r) => (
              <li key={r.ruleId}>
                <span className="grow">
                  <AgentText text={r.ruleId} short />
                </span>
                {refuses(p, r.ruleId) ? (
                  <Link {...open({ rule: r.ruleId })}>{count(r.count)}</Link>
                ) : (
                  <span>{count(r.count)}</span>
                )}
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  );
}

function Start({ policy: p, onClose }: { policy: Policy; onClose: () => void }) {
  const again = useAgain();
  const v = p.policyVersion;
  return (
    <ActDialog<object>
      title={w.startShadowTitle(v, clean(p.name))}
      act={w.startShadowAct}
      onClose={onClose}
      onSettled={again}
      send={() => api.post("/policies/{policyId}/shadow", { params: at(p.id), body: { version: v } })}
      look={async () => {
        const now = await readPolicy(p.id);
        return now.shadowVersion === v ? now : undefined;
      }}
      done={() => <p>{w.shadowStarted(v)}</p>}
    >
      <p className="muted">{w.startShadowMeans}</p>
    </ActDialog>
  );
}

function End({ policy: p, onClose }: { policy: Policy; onClose: () => void }) {
  const again = useAgain();
  return (
    <ActDialog<object>
      title={w.endShadowTitle(clean(p.name))}
      act={w.endShadowAct}
      onClose={onClose}
      onSettled={again}
      send={() => api.delete("/policies/{policyId}/shadow", { params: at(p.id) })}
      look={async () => {
        const now = await readPolicy(p.id);
        return now.shadowVersion === null ? now : undefined;
      }}
      done={() => <p>{w.shadowEnded}</p>}
    >
      <p className="muted">{w.endShadowMeans}</p>
    </ActDialog>
  );
}
