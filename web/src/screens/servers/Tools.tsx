import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { KillDialog } from "../../app/kill/KillDialog";
import { useMayKill } from "../../app/kill/queries";
import { useMay, useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { servers as w } from "../../words/servers";
import { AcceptTool } from "./AcceptTool";
import { Definition } from "./Definition";
import { Diff } from "./Diff";
import { type Server, type Tool, toolsQuery } from "./queries";

type Doing = { act: "accept" | "refuse"; tool: Tool };

/** Tools are what a server offers; those that are held come first. */
export function Tools({ server }: { server: Server }) {
  const org = useOrg();
  const tools = useQuery(toolsQuery(org.id, server.mcpId));
  // What was on screen is what is accepted: it does not change below an open dialog, which stays when the tool goes.
  const [doing, setDoing] = useState<Doing>();
  const close = () => setDoing(undefined);
  return (
    <>
      <Loaded query={tools}>
        {(items) => {
          if (items.length === 0) return <p className="muted">{w.noTools}</p>;
          const sorted = [...items.filter((t) => t.held), ...items.filter((t) => !t.held)];
          return (
            <ul className="server-tools" aria-label={w.tabs.tools}>
              {sorted.map((t) => (
                <li key={t.name} className="card stack tight">
                  <ToolCard tool={t} onDo={setDoing} />
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
      {doing?.act === "accept" && <AcceptTool server={server} tool={doing.tool} onClose={close} />}
      {doing?.act === "refuse" && (
        <KillDialog
          first={{ scope: "tool", subject: `${server.name}.${doing.tool.name}` }}
          scopes={["tool"]}
          onClose={close}
        />
      )}
    </>
  );
}

function ToolCard({ tool: t, onDo }: { tool: Tool; onDo: (doing: Doing) => void }) {
  return (
    <>
      <div className="row wrap">
        <h2>
          <AgentText text={t.name} short />
        </h2>
        <StatusBadge word={w.states[t.state] ?? t.state} error={t.held} />
        <span className="grow small muted">
          {w.classes[t.class] ?? t.class}, {w.classFrom[t.classFrom] ?? t.classFrom}
        </span>
        {t.held && <HeldActs tool={t} onDo={onDo} />}
      </div>
      {t.held && (
        <p className="small muted">
          {w.heldSince} <Time at={t.since} form="absolute" />: <AgentText text={t.why} />. {w.heldMeans}
        </p>
      )}
      {t.movedFrom && (
        <p className="small">
          {w.movedFrom} <AgentText text={t.movedFrom} short />
        </p>
      )}
      {t.description && <AgentText text={t.description} block fold={400} />}
      {t.held && t.diff.length > 0 && <Diff changes={t.diff} />}
      <Definition tool={t} />
      {t.acceptedBy && t.acceptedAt && (
        <p className="small faint">
          {w.acceptedBy} <Person id={t.acceptedBy} />, <Time at={t.acceptedAt} />
        </p>
      )}
    </>
  );
}

function HeldActs({ tool, onDo }: { tool: Tool; onDo: (doing: Doing) => void }) {
  const mayManage = useMay("servers.manage");
  const mayKill = useMayKill();
  return (
    <span className="row">
      <Button refused={mayKill} onClick={() => onDo({ act: "refuse", tool })}>
        {w.refuse}
      </Button>
      <Button refused={mayManage} onClick={() => onDo({ act: "accept", tool })}>
        {w.accept}
      </Button>
    </span>
  );
}
