import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { ActDialog, ReasonField, reasonMissing } from "../../app/act/ActDialog";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { clean } from "../../ui/clean";
import { servers as w } from "../../words/servers";
import { Definition } from "./Definition";
import { Diff } from "./Diff";
import { readTools, type Server, type Tool, useAgain } from "./queries";

/** AcceptTool accepts a held tool exactly as it was seen: the server compares its hash. */
export function AcceptTool({ server, tool, onClose }: { server: Server; tool: Tool; onClose: () => void }) {
  const org = useOrg();
  const again = useAgain();
  const [reason, setReason] = useState("");
  const gone = tool.state === "gone";
  const look = async () => {
    const now = (await readTools(org.id, server.mcpId)).find((t) => t.name === tool.name);
    if (gone) return now ? undefined : tool;
    return now && !now.held && now.hash === tool.hash ? now : undefined;
  };
  return (
    <ActDialog<Tool>
      title={w.acceptTitle(clean(tool.name, 60))}
      act={w.acceptAct}
      wide
      missing={reasonMissing(reason)}
      onClose={onClose}
      onSettled={again}
      send={() =>
        api.post("/mcp/servers/{mcpId}/tools/{tool}/accept", {
          params: { path: { mcpId: server.mcpId, tool: tool.name }, query: { organizationId: org.id } },
          body: { hash: tool.hash, reason: reason.trim() },
        })
      }
      look={look}
      done={() => (
        <p>
          {gone ? w.forgotten : w.accepted}{" "}
          <Link {...linkTo("/audit", { action: "mcp.tool_accepted" })}>{w.inLog}</Link>
        </p>
      )}
    >
      <p className="muted">{gone ? w.forgetMeans : w.acceptMeans}</p>
      {tool.diff.length > 0 ? <Diff changes={tool.diff} /> : <AgentText text={tool.description} block />}
      {!gone && <Definition tool={tool} />}
      {tool.hash && (
        <p className="small muted">
          {w.hash} <code>{tool.hash}</code>
        </p>
      )}
      <ReasonField value={reason} onChange={setReason} />
    </ActDialog>
  );
}
