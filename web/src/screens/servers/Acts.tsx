import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api } from "../../api/client";
import { ActDialog, ReasonField, reasonMissing } from "../../app/act/ActDialog";
import { KillDialog } from "../../app/kill/KillDialog";
import { useMayKill } from "../../app/kill/queries";
import { useMay, useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { Problem } from "../../ui/form";
import { count } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { servers as w } from "../../words/servers";
import { Definition } from "./Definition";
import { Diff } from "./Diff";
import { listingQuery, of, readServer, type Server, type Tool, useAgain } from "./queries";

type Doing = "approve" | "deny" | "stop";

/** Acts are what one can do with a server. */
export function Acts({ server: s }: { server: Server }) {
  const mayManage = useMay("servers.manage");
  const mayKill = useMayKill();
  const [doing, setDoing] = useState<Doing>();
  const close = () => setDoing(undefined);
  return (
    <>
      <Looks server={s} refused={mayManage} />
      {s.status !== "approved" && (
        <Button refused={mayManage} onClick={() => setDoing("approve")}>
          {w.approve}
        </Button>
      )}
      {s.status === "approved" && Number(s.heldCount) > 1 && (
        <Button refused={mayManage} onClick={() => setDoing("approve")}>
          {w.acceptAll}
        </Button>
      )}
      {s.status !== "denied" && (
        <Button refused={mayManage} onClick={() => setDoing("deny")}>
          {w.deny}
        </Button>
      )}
      <Button look="danger" refused={mayKill} onClick={() => setDoing("stop")}>
        {w.stop}
      </Button>
      {doing === "stop" && (
        <KillDialog first={{ scope: "server", subject: s.name }} scopes={["server"]} onClose={close} />
      )}
      {doing === "approve" && <ApproveDialog server={s} onClose={close} />}
      {doing === "deny" && <DenyDialog server={s} onClose={close} />}
    </>
  );
}

// Asking and scanning change nothing that a person has decided: they may be repeated.
function Looks({ server: s, refused }: { server: Server; refused: string | undefined }) {
  const org = useOrg();
  const again = useAgain();
  const ask = useMutation({
    mutationFn: () => api.post("/mcp/servers/{mcpId}/refresh", { params: of(org.id, s.mcpId) }),
    onSuccess: () => toast(w.asked),
    onSettled: again,
  });
  const scan = useMutation({
    mutationFn: () => api.post("/mcp/servers/{mcpId}/scan", { params: of(org.id, s.mcpId) }),
    onSuccess: (found) => toast(w.scanned(Number(found.open))),
    onSettled: again,
  });
  const why = refused ?? (s.url ? undefined : w.noAddress);
  return (
    <>
      <Button busy={ask.isPending} refused={why} onClick={() => ask.mutate()}>
        {w.ask}
      </Button>
      <Button busy={scan.isPending} refused={refused} onClick={() => scan.mutate()}>
        {w.scan}
      </Button>
      <Problem error={ask.error ?? scan.error} />
    </>
  );
}

interface DialogProps {
  server: Server;
  onClose: () => void;
}

// Whether a server has the status that somebody gave it.
const hasStatus = (org: string, id: string, status: Server["status"]) => async () => {
  const now = await readServer(org, id);
  return now.status === status ? now : undefined;
};

const Now = ({ server }: { server: Server }) => <p>{w.statusNow(w.statuses[server.status] ?? server.status)}</p>;

/**
 * ApproveDialog approves exactly the tools that it lists: if the server lists something else by now, it is refused. Of an
 * approved server it accepts all that is held.
 */
function ApproveDialog({ server, onClose }: DialogProps) {
  const org = useOrg();
  const again = useAgain();
  const [reason, setReason] = useState("");
  const listing = useQuery(listingQuery(org.id, server.mcpId, useId()));
  const seen = listing.data?.listedHash;
  const unseen = server.url !== "" && seen === "";
  // As it was when the dialog was opened: the page behind it reads the server again once it is approved.
  const [held] = useState(server.status === "approved");
  return (
    <ActDialog<Server>
      title={(held ? w.acceptAllTitle : w.approveTitle)(clean(server.name, 60))}
      act={held ? w.acceptAllAct : w.approveAct}
      wide
      missing={seen === undefined ? words.ui.loading : unseen ? w.askFirst : reasonMissing(reason)}
      onClose={onClose}
      onSettled={again}
      send={() =>
        api.patch("/mcp/servers/{mcpId}", {
          params: of(org.id, server.mcpId),
          body: { status: "approved", reason: reason.trim(), ...(seen ? { seen } : {}) },
        })
      }
      look={
        held
          ? async () => {
              const now = await readServer(org.id, server.mcpId);
              return Number(now.heldCount) === 0 && now.listedHash === seen ? now : undefined;
            }
          : hasStatus(org.id, server.mcpId, "approved")
      }
      done={(now) => (held ? <p>{w.allAccepted}</p> : <Now server={now} />)}
    >
      <Loaded query={listing}>
        {({ items, listedHash }) => (
          <Listed
            tools={items.filter((t) => t.state !== "gone" && (t.held || !held))}
            means={held ? w.acceptAllMeans : w.approveMeans}
            hash={listedHash}
          />
        )}
      </Loaded>
      <ReasonField value={reason} onChange={setReason} />
    </ActDialog>
  );
}

function Listed({ tools, means, hash }: { tools: Tool[]; means: (tools: string) => string; hash: string }) {
  return (
    <>
      <p className="muted">{means(w.toolCount(count(tools.length)))}</p>
      <ul className="lines" aria-label={w.tabs.tools}>
        {tools.map((t) => (
          <li key={t.name}>
            <span className="grow stack tight">
              <strong>
                <AgentText text={t.name} short />
              </strong>
              <AgentText text={t.description} block fold={300} />
              {t.diff.length > 0 && <Diff changes={t.diff} />}
              <Definition tool={t} />
            </span>
          </li>
        ))}
      </ul>
      {hash && (
        <p className="small muted">
          {w.hash} <code>{hash}</code>
        </p>
      )}
    </>
  );
}

function DenyDialog({ server, onClose }: DialogProps) {
  const org = useOrg();
  const again = useAgain();
  const [reason, setReason] = useState("");
  return (
    <ActDialog<Server>
      title={w.denyTitle(clean(server.name, 60))}
      act={w.denyAct}
      danger
      missing={reasonMissing(reason)}
      onClose={onClose}
      onSettled={again}
      send={() =>
        api.patch("/mcp/servers/{mcpId}", {
          params: of(org.id, server.mcpId),
          body: { status: "denied", reason: reason.trim() },
        })
      }
      look={hasStatus(org.id, server.mcpId, "denied")}
      done={(now) => <Now server={now} />}
    >
      <p className="muted">{w.denyMeans}</p>
      <ReasonField value={reason} onChange={setReason} />
    </ActDialog>
  );
}
