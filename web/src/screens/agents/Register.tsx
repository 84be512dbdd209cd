import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { statusOf } from "../../api/errors";
import { ActDialog } from "../../app/act/ActDialog";
import { useMay, useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { Button, Field } from "../../ui/Button";
import { agents as w } from "../../words/agents";
import { type Agent, readAgent } from "./queries";

/** Register is the way to register an agent: OAuth clients act as agents that somebody registered. */
export function Register() {
  const refused = useMay("agents.manage");
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button refused={refused} onClick={() => setOpen(true)}>
        {w.register}
      </Button>
      {open && <RegisterDialog onClose={() => setOpen(false)} />}
    </>
  );
}

// An agent that was only seen is not registered.
async function findRegistered(org: string, agentId: string): Promise<Agent | undefined> {
  try {
    const found = await readAgent(org, agentId);
    return found.status === "unregistered" || found.status === "pending" ? undefined : found;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

function RegisterDialog({ onClose }: { onClose: () => void }) {
  const org = useOrg();
  const client = useQueryClient();
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const agentId = id.trim();
  return (
    <ActDialog<Agent>
      title={w.registerTitle}
      doneTitle={w.registeredTitle}
      act={w.registerAct}
      missing={agentId ? undefined : w.idFirst}
      onClose={onClose}
      onSettled={() => client.invalidateQueries({ queryKey: [org.id, "agents"] })}
      send={() =>
        api.post("/agent/register", {
          params: { query: { organizationId: org.id } },
          body: { agentId, ...(name.trim() ? { name: name.trim() } : {}) },
        })
      }
      look={() => findRegistered(org.id, agentId)}
      done={(made) => (
        <p>
          <Link to="/agents/$id" params={{ id: made.agentId }} search={{}}>
            <AgentText text={made.name || made.agentId} short />
          </Link>{" "}
          {w.registeredMeans}
        </p>
      )}
    >
      <p className="muted">{w.registerMeans}</p>
      <Field label={w.id} hint={w.idHint} maxLength={200} value={id} onChange={(e) => setId(e.target.value)} />
      <Field label={w.name} maxLength={100} value={name} onChange={(e) => setName(e.target.value)} />
    </ActDialog>
  );
}
