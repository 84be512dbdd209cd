import { useQuery } from "@tanstack/react-query";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { IdChip } from "../../ui/CopyButton";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { certificates as w } from "../../words/certificates";
import { useOrg } from "../org";
import { Person } from "../people";
import { type Certificate, latest, ofAgentQuery, ofServerQuery } from "./queries";

/** AgentCertificates are those of an agent, the newest first. */
export function AgentCertificates({ id }: { id: string }) {
  const org = useOrg();
  const found = useQuery(ofAgentQuery(org.id, id));
  return (
    <section className="card stack tight">
      <p className="small muted">{w.ofAgent}</p>
      <Loaded query={found}>{(page) => <List items={page.items} more={page.hasMore} />}</Loaded>
    </section>
  );
}

/** ServerCertificates are those of an MCP server, the newest first. */
export function ServerCertificates({ id }: { id: string }) {
  const org = useOrg();
  const found = useQuery(ofServerQuery(org.id, id));
  return (
    <section className="card stack tight">
      <p className="small muted">{w.ofServer}</p>
      <Loaded query={found}>{(page) => <List items={page.items} more={page.hasMore} />}</Loaded>
    </section>
  );
}

function List({ items, more }: { items: Certificate[]; more: boolean }) {
  if (items.length === 0) return <p>{w.none}</p>;
  return (
    <>
      <ul className="lines" aria-label={w.tab}>
        {items.map((c) => (
          <Line key={c.certificateId} certificate={c} />
        ))}
      </ul>
      {more && <p className="small muted">{w.cut(latest)}</p>}
    </>
  );
}

function Line({ certificate: c }: { certificate: Certificate }) {
  const good = c.status === "good";
  return (
    <li>
      <StatusBadge word={w.statuses[c.status] ?? c.status} error={c.status === "revoked"} />
      <IdChip id={c.certificateId} />
      <span className="grow small muted">
        {c.revokedAt ? (
          <>
            {w.revoked} <Time at={c.revokedAt} /> <Person id={c.revokedBy ?? ""} />{" "}
            <AgentText text={c.reason ?? ""} short />
          </>
        ) : (
          <>
            {w.expires} <Time at={c.expiresAt} form="absolute" />
          </>
        )}
      </span>
      {good && c.statement && <StatusBadge word={c.statement.holds ? w.holds : w.ended} error={!c.statement.holds} />}
    </li>
  );
}
