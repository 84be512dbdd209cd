import { useState } from "react";
import { ActDialog, ReasonField, reasonMissing } from "../../app/act/ActDialog";
import { KillDialog } from "../../app/kill/KillDialog";
import { isSame, useMayKill, useSettled } from "../../app/kill/queries";
import { StopList } from "../../app/kill/StopList";
import { useMay, useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { kill } from "../../words/acts";
import { agents as w } from "../../words/agents";
import { keysOf } from "./bind";
import { type Agent, readAgent, setStatus } from "./queries";

type Doing = "kill" | "suspend" | "activate";

/** Acts are what one can do with an agent. */
export function Acts({ agent: a }: { agent: Agent }) {
  const mayKill = useMayKill();
  const mayManage = useMay("agents.manage");
  const [doing, setDoing] = useState<Doing>();
  const close = () => setDoing(undefined);
  const own = a.stopped?.scope === "agent" && a.stopped.subject === a.agentId;
  return (
    <>
      {a.status === "active" && (
        <Button refused={mayManage} onClick={() => setDoing("suspend")}>
          {w.suspend}
        </Button>
      )}
      {(a.status === "suspended" || a.status === "pending") && (
        <Button refused={mayManage} onClick={() => setDoing("activate")}>
          {a.status === "pending" ? w.confirm : w.activate}
        </Button>
      )}
      {/* Its own stop is lifted where it stands. */}
      {!own && (
        <Button look="danger" refused={mayKill} onClick={() => setDoing("kill")}>
          {kill.kill}
        </Button>
      )}
      {doing === "kill" && (
        <KillDialog
          first={{ scope: "agent", subject: a.agentId }}
          scopes={["agent", "server", "tool", "organization"]}
          keys={keysOf(a).length}
          sharing={a.sharing ?? undefined}
          onClose={close}
        />
      )}
      {(doing === "suspend" || doing === "activate") && <StatusDialog agent={a} to={doing} onClose={close} />}
    </>
  );
}

function StatusDialog({ agent: a, to, onClose }: { agent: Agent; to: "suspend" | "activate"; onClose: () => void }) {
  const org = useOrg();
  const onSettled = useSettled();
  const [reason, setReason] = useState("");
  // As it was when the dialog was opened: what a colleague does meanwhile is answered by the server.
  const [pending] = useState(a.status === "pending");
  const status = to === "suspend" ? "suspended" : "active";
  const act = to === "activate" && pending ? "confirm" : to;
  const name = clean(a.name || a.agentId, 60);
  return (
    <ActDialog<Agent>
      title={w[`${act}Title`](name)}
      act={w[`${act}Act`]}
      missing={reasonMissing(reason)}
      onClose={onClose}
      onSettled={onSettled}
      send={() => setStatus(org.id, a.agentId, status, reason.trim())}
      look={async () => {
        const now = await readAgent(org.id, a.agentId);
        return now.status === status ? now : undefined;
      }}
      done={(now) => <p>{w.statusNow(w.statuses[now.status] ?? now.status)}</p>}
    >
      <p className="muted">{w[`${act}Means`]}</p>
      <ReasonField value={reason} onChange={setReason} />
    </ActDialog>
  );
}

/** Banner says on every part of the page what keeps an agent from acting. */
export function Banner({ agent: a }: { agent: Agent }) {
  const { stopped } = a;
  return (
    <>
      {/* It stays when nothing is stopped: its dialog has still to say so. */}
      <StopList wanted={(stop) => stopped !== undefined && isSame(stop, stopped)} />
      {a.status === "suspended" && a.suspendedFor && (
        <p className="notice">
          {w.suspendedFor} <AgentText text={a.suspendedFor} />
        </p>
      )}
      {a.status === "pending" && <p className="notice">{w.pending}</p>}
    </>
  );
}
