import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { ActDialog, ReasonField, reasonMissing } from "../../app/act/ActDialog";
import { linkTo } from "../../app/link";
import { useMay, useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { AgentText } from "../../ui/AgentText";
import { RiskBadge, StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Loaded } from "../../ui/Loaded";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { servers as w } from "../../words/servers";
import { FlowPicture } from "./FlowPicture";
import { flowOf } from "./flow";
import { type Finding, findingsQuery, readFindings, type Server, useAgain } from "./queries";

/** FindingList is what scans found about a server, and which of its tools are held. */
export function FindingList({ server }: { server: Server }) {
  const org = useOrg();
  const findings = useQuery(findingsQuery(org.id, server.mcpId));
  const [accepting, setAccepting] = useState<Finding>();
  return (
    <>
      <Loaded query={findings}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={w.noFindings}>{w.noFindingsHelp}</Empty>
          ) : (
            <ul className="server-tools" aria-label={w.tabs.findings}>
              {items.map((f) => (
                <li key={`${f.id} ${f.fingerprint} ${f.place}`} className="card stack tight">
                  <FindingCard finding={f} onAccept={() => setAccepting(f)} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {accepting && <AcceptFinding server={server} finding={accepting} onClose={() => setAccepting(undefined)} />}
    </>
  );
}

function FindingCard({ finding: f, onAccept }: { finding: Finding; onAccept: () => void }) {
  const refused = useMay("servers.manage");
  const flow = f.id === "toxic-flow" ? flowOf(f.evidence) : undefined;
  return (
    <>
      <div className="row wrap">
        {f.severity === "info" ? (
          <StatusBadge word={w.severities.info ?? f.severity} />
        ) : (
          <RiskBadge risk={f.severity} />
        )}
        <StatusBadge word={w.findingStates[f.status] ?? f.status} error={f.status === "open"} />
        <h2 className="grow">
          <AgentText text={f.title} short />
        </h2>
        {f.id === "pin" ? (
          <Link {...linkTo(".", { tab: undefined })}>{w.toTools}</Link>
        ) : (
          f.status === "open" && (
            <Button refused={refused} onClick={onAccept}>
              {w.acceptFinding}
            </Button>
          )
        )}
      </div>
      {flow ? <FlowPicture flow={flow} /> : f.evidence && <AgentText text={f.evidence} block fold={600} />}
      <p className="small muted">
        <AgentText text={f.advice} />
      </p>
      <p className="small faint row wrap">
        <code>{f.id}</code>
        <AgentText text={f.place} short />
        {[...f.owasp, ...f.safeMcp].map((id) => (
          <span key={id}>{id}</span>
        ))}
        <Time at={f.firstSeenAt} />
      </p>
      {f.acceptedBy && (
        <p className="small">
          {w.acceptedFor} <Person id={f.acceptedBy} />: <AgentText text={f.acceptedFor} />
        </p>
      )}
    </>
  );
}

interface AcceptProps {
  server: Server;
  finding: Finding;
  onClose: () => void;
}

function AcceptFinding({ server, finding: f, onClose }: AcceptProps) {
  const org = useOrg();
  const again = useAgain();
  const [reason, setReason] = useState("");
  return (
    <ActDialog<Finding>
      title={w.acceptFindingTitle}
      act={w.acceptAct}
      missing={reasonMissing(reason)}
      onClose={onClose}
      onSettled={again}
      send={() =>
        api.post("/mcp/servers/{mcpId}/vulnerabilities/{fingerprint}/accept", {
          params: {
            path: { mcpId: server.mcpId, fingerprint: f.fingerprint },
            query: { organizationId: org.id },
          },
          body: { reason: reason.trim() },
        })
      }
      look={async () => {
        const { items } = await readFindings(org.id, server.mcpId);
        return items.find((i) => i.fingerprint === f.fingerprint && i.status === "accepted");
      }}
      done={() => <p>{w.findingAccepted}</p>}
    >
      <p>
        <AgentText text={f.title} />
      </p>
      <p className="muted">{w.acceptFindingMeans}</p>
      <ReasonField value={reason} onChange={setReason} />
    </ActDialog>
  );
}
