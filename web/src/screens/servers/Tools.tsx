import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Json } from "../../api/exact";
import { KillDialog } from "../../app/kill/KillDialog";
import { useMayKill } from "../../app/kill/queries";
import { useMay, useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { JsonValue } from "../../ui/json/JsonViewer";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { servers as w } from "../../words/servers";
import { AcceptTool } from "./AcceptTool";
import { Diff } from "./Diff";
import { type Server, type Tool, toolsQuery } from "./queries";

/** Tools are what a server offers; those that are held come first. */
export function Tools({ server }: { server: Server }) {
  const org = useOrg();
  const tools = useQuery(toolsQuery(org.id, server.mcpId));
  return (
    <Loaded query={tools}>
      {(items) => {
        if (items.length === 0) return <p className="muted">{w.noTools}</p>;
        const sorted = [...items.filter((t) => t.held), ...items.filter((t) => !t.held)];
        return (
          <ul className="server-tools" aria-label={w.tabs.tools}>
            {sorted.map((t) => (
              <li key={t.name} className="card stack tight">
                <ToolCard server={server} tool={t} />
              </li>
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}

function ToolCard({ server, tool: t }: { server: Server; tool: Tool }) {
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
        {t.held && <HeldActs server={server} tool={t} />}
      </div>
      {t.held && (
        <p className="small muted">
          <AgentText text={t.why} /> {w.heldSince} <Time at={t.since} form="absolute" />. {w.heldMeans}
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

/** Definition is all that a server says of a tool beside its description. */
export function Definition({ tool: t }: { tool: Tool }) {
  return (
    <details className="server-whole">
      <summary>{w.whole}</summary>
      <div className="stack tight">
        {t.title && <AgentText text={t.title} />}
        <h3>{w.schema}</h3>
        <JsonValue value={t.inputSchema as unknown as Json} name={w.schema} />
        <h3>{w.annotations}</h3>
        <JsonValue value={t.annotations as unknown as Json} name={w.annotations} />
      </div>
    </details>
  );
}

function HeldActs({ server, tool }: { server: Server; tool: Tool }) {
  const mayManage = useMay("servers.manage");
  const mayKill = useMayKill();
  // What was on screen is what is accepted: it does not change below an open dialog.
  const [seen, setSeen] = useState<Tool>();
  const [refusing, setRefusing] = useState(false);
  return (
    <span className="row">
      <Button refused={mayKill} onClick={() => setRefusing(true)}>
        {w.refuse}
      </Button>
      <Button refused={mayManage} onClick={() => setSeen(tool)}>
        {w.accept}
      </Button>
      {seen && <AcceptTool server={server} tool={seen} onClose={() => setSeen(undefined)} />}
      {refusing && (
        <KillDialog
          first={{ scope: "tool", subject: `${server.name}.${tool.name}` }}
          scopes={["tool"]}
          onClose={() => setRefusing(false)}
        />
      )}
    </span>
  );
}
