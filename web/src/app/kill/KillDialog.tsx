import { useState } from "react";
import { api } from "../../api/client";
import { Button, Field } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { typable } from "../../ui/typable";
import { kill as w } from "../../words/acts";
import { ActDialog, ReasonField, reasonMissing } from "../act/ActDialog";
import { useOrg } from "../org";
import { findStop, type Scope, type Stop, type Stopped, useSettled } from "./queries";
import { AgentNames, StopResult } from "./StopResult";
import "./kill.css";

interface KillProps {
  /** What is chosen at first, and the scopes to choose from: one is no choice. */
  first: Stopped;
  scopes: Scope[];
  /** How many keys an agent has. */
  keys?: number;
  /** The other agents that stop with an agent, because they use its keys. */
  sharing?: string[] | undefined;
  onClose: () => void;
}

// A button of a longer name would not fit on a phone.
const longest = 24;

/** KillDialog stops something, after a reason and its name were typed. */
export function KillDialog({ first, scopes, keys, sharing, onClose }: KillProps) {
  const org = useOrg();
  const onSettled = useSettled();
  const [scope, setScope] = useState<Scope>(first.scope);
  const [named, setNamed] = useState("");
  const [reason, setReason] = useState("");
  const subject = scope === first.scope ? first.subject : scope === "organization" ? "" : named.trim();
  const asksName = scope !== first.scope && scope !== "organization";
  const what = scope === "organization" ? org.name : subject;
  const name = clean(what, 60) || w.names[scope]?.toLowerCase() || scope;
  const choose = (next: Scope) => {
    setScope(next);
    setNamed("");
  };
  return (
    <ActDialog<Stop>
      title={w.title(name)}
      doneTitle={w.doneTitle(name)}
      act={name.length <= longest ? w.act(name) : w.actPlain}
      danger
      type={typable(what) ? what : w.word}
      missing={asksName && !subject ? w.whichFirst : reasonMissing(reason)}
      onClose={onClose}
      onSettled={onSettled}
      send={() =>
        api.post("/organization/{orgId}/kill-switch", {
          params: { path: { orgId: org.id } },
          body: { scope, reason: reason.trim(), ...(subject ? { subject } : {}) },
        })
      }
      look={() => findStop(org.id, { scope, subject })}
      done={(stop) => <StopResult stop={stop} />}
    >
      {scopes.length > 1 && <Scopes scopes={scopes} chosen={scope} onChoose={choose} />}
      <p className="muted">
        {w.means[scope]} {scope === "agent" && keys !== undefined && w.keysOf(keys)}
      </p>
      {scope === "agent" && sharing && sharing.length > 0 && <Sharing agents={sharing} />}
      {asksName && (
        <Field
          label={scope === "tool" ? w.tool : w.server}
          {...(scope === "tool" ? { hint: w.toolHint } : {})}
          required
          maxLength={200}
          value={named}
          autoComplete="off"
          spellCheck={false}
          onChange={(e) => setNamed(e.target.value)}
        />
      )}
      <div className="stack tight">
        <ReasonField value={reason} onChange={setReason} />
        <div className="row wrap">
          {w.reasons.map((text) => (
            <Button key={text} onClick={() => setReason(text)}>
              {text}
            </Button>
          ))}
        </div>
      </div>
    </ActDialog>
  );
}

function Sharing({ agents }: { agents: string[] }) {
  return (
    <div className="notice">
      {w.agentsWillStop}
      <AgentNames ids={agents} />
    </div>
  );
}

interface ScopesProps {
  scopes: Scope[];
  chosen: Scope;
  onChoose: (scope: Scope) => void;
}

function Scopes({ scopes, chosen, onChoose }: ScopesProps) {
  return (
    <fieldset className="kill-scopes">
      <legend>{w.scope}</legend>
      {scopes.map((scope) => (
        <label key={scope} className="kill-scope">
          <input type="radio" name="scope" checked={scope === chosen} onChange={() => onChoose(scope)} />
          {w.scopes[scope]}
        </label>
      ))}
    </fieldset>
  );
}
