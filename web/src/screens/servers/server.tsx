import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { statusOf } from "../../api/errors";
import { ServerCertificates } from "../../app/certificates/Certificates";
import { KeyChip } from "../../app/KeyChip";
import type { Stop } from "../../app/kill/queries";
import { StopList } from "../../app/kill/StopList";
import { useOrg } from "../../app/org";
import { Person } from "../../app/people";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { IdChip } from "../../ui/CopyButton";
import { Loaded } from "../../ui/Loaded";
import { Empty, SkeletonLines } from "../../ui/states";
import { Tabs } from "../../ui/Tabs";
import { Time } from "../../ui/Time";
import { servers as w } from "../../words/servers";
import { Acts } from "./Acts";
import { Calls } from "./Calls";
import { Checks } from "./Checks";
import { Consent } from "./Consent";
import { FindingList } from "./Findings";
import { Health, ServerStatus } from "./parts";
import { type Server, serverQuery } from "./queries";
import { Tools } from "./Tools";
import "./servers.css";

const route = getRouteApi("/frame/servers/$id");

/** ServerDetail is one MCP server: what it offers, what changed, and what was found about it. */
export function ServerDetail() {
  const { id } = route.useParams();
  const org = useOrg();
  const server = useQuery(serverQuery(org.id, id));
  usePage({ name: w.title, to: "/servers" }, { name: server.data?.name ?? "…" });
  return (
    <div className="screen">
      {!server.data && <h1>{w.title}</h1>}
      {statusOf(server.error) === 404 ? (
        <Empty
          title={w.notHere}
          action={
            <Link className="button" to="/servers">
              {w.toList}
            </Link>
          }
        >
          {w.notHereHelp}
        </Empty>
      ) : (
        <Loaded query={server} skeleton={<SkeletonLines lines={10} />}>
          {(found) => <Shown server={found} />}
        </Loaded>
      )}
    </div>
  );
}

function Shown({ server: s }: { server: Server }) {
  const { tab = "tools" } = route.useSearch();
  const isOfIt = (stop: Stop) =>
    (stop.scope === "server" && stop.subject === s.name) ||
    (stop.scope === "tool" && stop.subject.startsWith(`${s.name}.`));
  return (
    <>
      <div className="screen-head">
        <h1>
          <AgentText text={s.name} short />
        </h1>
        <ServerStatus status={s.status} />
        <Health health={s.health} />
        <span className="grow" />
        <Acts server={s} />
      </div>
      <StopList wanted={isOfIt} />
      <Notices server={s} />
      <Facts server={s} />
      {s.auth.type === "oauth" && s.status === "approved" && <Consent server={s} />}
      <Tabs label={w.tabsLabel} tabs={Object.entries(w.tabs)} shown={tab} />
      {tab === "tools" && <Tools server={s} />}
      {tab === "findings" && <FindingList server={s} />}
      {tab === "calls" && <Calls server={s} />}
      {tab === "health" && <Checks server={s} />}
      {tab === "certificates" && <ServerCertificates id={s.mcpId} />}
    </>
  );
}

function Notices({ server: s }: { server: Server }) {
  return (
    <>
      {s.status === "pending" && <p className="notice">{w.pending}</p>}
      {s.status === "denied" && <p className="notice">{w.denied}</p>}
      {s.status === "approved" && s.url && !s.listedHash && !s.health.unreadable && (
        <p className="notice">{w.unseen}</p>
      )}
      {s.health.unreadable && <p className="notice">{w.unreadable}</p>}
      {s.health.problem && (
        <p className="notice">
          {w.problem} <AgentText text={s.health.problem} />
        </p>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Facts({ server: s }: { server: Server }) {
  return (
    <section className="card">
      <dl className="facts">
        {s.url && (
          <Fact name={w.address}>
            <AgentText text={s.url} copy />
          </Fact>
        )}
        {s.command && s.command.length > 0 && (
          <Fact name={w.command}>
            <span className="row wrap">
              {s.command.map((word, i) => (
                <code key={i}>
                  <AgentText text={word} json />
                </code>
              ))}
            </span>
            <p className="small muted">{w.commandHelp}</p>
          </Fact>
        )}
        <Fact name={w.transport}>{w.transports[s.transport] ?? "–"}</Fact>
        {s.auth.hasSecret && <Fact name={w.secret}>{w.hasSecret}</Fact>}
        {s.version && (
          <Fact name={w.version}>
            <AgentText text={s.version} short />
          </Fact>
        )}
        {s.description && (
          <Fact name={w.description}>
            <AgentText text={s.description} />
          </Fact>
        )}
        {s.instructions && (
          <Fact name={w.instructions}>
            <AgentText text={s.instructions} block fold={300} />
          </Fact>
        )}
        <Fact name={w.registered}>
          <Person id={s.registeredBy} />
        </Fact>
        {s.keyId && (
          <Fact name={w.byKey}>
            <KeyChip id={s.keyId} />
          </Fact>
        )}
        {s.decidedBy && (
          <Fact name={w.decided}>
            <Person id={s.decidedBy} /> {s.decidedAt && <Time at={s.decidedAt} form="absolute" />}
            {s.reason && (
              <p className="small muted">
                <AgentText text={s.reason} />
              </p>
            )}
          </Fact>
        )}
        {s.listedHash && (
          <Fact name={w.listed}>
            <IdChip id={s.listedHash} />
          </Fact>
        )}
      </dl>
    </section>
  );
}
