import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { ActDialog, ReasonField, reasonMissing } from "../../app/act/ActDialog";
import { KillDialog } from "../../app/kill/KillDialog";
import { useMayKill } from "../../app/kill/queries";
import { useMay, useOrg } from "../../app/org";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { Problem } from "../../ui/form";
import { count } from "../../ui/format";
import { toast } from "../../ui/Toast";
import { servers as w } from "../../words/servers";
import { of, readServer, type Server, useAgain } from "./queries";

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
      {(doing === "approve" || doing === "deny") && <StatusDialog server={s} to={doing} onClose={close} />}
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

function StatusDialog({ server, to, onClose }: { server: Server; to: "approve" | "deny"; onClose: () => void }) {
  const org = useOrg();
  const again = useAgain();
  const [reason, setReason] = useState("");
  // What was seen when the dialog was opened: if the server lists something else by now, it is not approved.
  const [seen] = useState(server);
  const status = to === "approve" ? "approved" : "denied";
  const unseen = to === "approve" && seen.url !== "" && seen.listedHash === "";
  return (
    <ActDialog<Server>
      title={w[`${to}Title`](clean(seen.name, 60))}
      act={w[`${to}Act`]}
      danger={to === "deny"}
      missing={unseen ? w.askFirst : reasonMissing(reason)}
      onClose={onClose}
      onSettled={again}
      send={() =>
        api.patch("/mcp/servers/{mcpId}", {
          params: of(org.id, seen.mcpId),
          body: {
            status,
            reason: reason.trim(),
            ...(to === "approve" && seen.listedHash ? { seen: seen.listedHash } : {}),
          },
        })
      }
      look={async () => {
        const now = await readServer(org.id, seen.mcpId);
        return now.status === status ? now : undefined;
      }}
      done={(now) => <p>{w.statusNow(w.statuses[now.status] ?? now.status)}</p>}
    >
      <p className="muted">{to === "approve" ? w.approveMeans(count(seen.toolCount)) : w.denyMeans}</p>
      <ReasonField value={reason} onChange={setReason} />
    </ActDialog>
  );
}
