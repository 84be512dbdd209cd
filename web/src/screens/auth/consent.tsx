import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { linkTo } from "../../app/link";
import { useMe, useOrg } from "../../app/org";
import { fresh } from "../../app/queries";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { Button, Choice } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { Loaded } from "../../ui/Loaded";
import { explain } from "../../ui/states";
import { words } from "../../words/en";
import { useAwake } from "./awake";
import "./device.css";

const w = words.consent;
const route = getRouteApi("/frame/consent");

/** Consent lets a person answer an OAuth client that wants to act as one of their agents. The safe answer has the focus. */
export function Consent() {
  const { request } = route.useSearch();
  usePage({ name: w.title });
  return (
    <div className="screen">
      <h1>{w.title}</h1>
      {request ? <Asked request={request} /> : <p>{w.nothing}</p>}
    </div>
  );
}

/** leave sends the browser to the client. The server gives such addresses only; another scheme could be a script. */
function leave(to: string) {
  if (/^https?:\/\//.test(to)) location.assign(to);
}

function Asked({ request }: { request: string }) {
  const [answered, setAnswered] = useState<"approved" | "denied">();
  const asked = useQuery({
    queryKey: ["consent", request],
    queryFn: ({ signal }) => api.get("/oauth/request", { params: { query: { request } }, signal }),
    retry: false,
    staleTime: fresh.never,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  if (answered) return <p role="status">{answered === "approved" ? w.approved : w.denied}</p>;
  return (
    <Loaded query={asked}>
      {(found) =>
        found.refused ? (
          <Refused refused={found.refused} />
        ) : (
          <Answer request={request} asked={found} onAnswered={setAnswered} />
        )
      }
    </Loaded>
  );
}

function Refused({ refused }: { refused: Body<"RefusedRequestBody"> }) {
  return (
    <div className="card stack device">
      <p role="alert">{w.wrong}</p>
      <p className="mono">
        <AgentText text={refused.reason} />
      </p>
      <div className="row end">
        <Button onClick={() => leave(refused.returnTo)}>{w.back}</Button>
      </div>
    </div>
  );
}

interface AnswerProps {
  request: string;
  asked: Body<"ClientRequestBody">;
  onAnswered: (answer: "approved" | "denied") => void;
}

function Answer({ request, asked, onAnswered }: AnswerProps) {
  const here = useOrg().id;
  const [org, setOrg] = useState(
    asked.organizations.find((o) => o.id === here)?.id ?? asked.organizations[0]?.id ?? "",
  );
  const agents = asked.organizations.find((o) => o.id === org)?.agents ?? [];
  const [chosen, setAgent] = useState("");
  const agent = agents.find((a) => a.agentId === chosen) ?? agents[0];
  const awake = useAwake();
  const answer = useMutation({
    mutationFn: (yes: boolean) =>
      yes
        ? api.post("/oauth/approve", { body: { request, organizationId: org, agentId: agent?.agentId ?? "" } })
        : api.post("/oauth/deny", { body: { request } }),
    onSuccess: ({ returnTo }, yes) => {
      onAnswered(yes ? "approved" : "denied");
      leave(returnTo);
    },
  });
  return (
    <div className="card stack device">
      <div className="stack tight">
        <p>
          <strong>{w.only}</strong>
        </p>
        <p>{w.selfAsserted}</p>
      </div>
      <Asking asked={asked} />
      <Choice
        label={w.organization}
        value={org}
        onChange={setOrg}
        options={asked.organizations.map((o) => [o.id, clean(o.name)] as const)}
      />
      {agent ? (
        <Choice
          label={w.agent}
          value={agent.agentId}
          onChange={setAgent}
          options={agents.map((a) => [a.agentId, clean(a.name ? `${a.name} (${a.agentId})` : a.agentId)] as const)}
        />
      ) : (
        <p role="alert">
          {w.noAgent}{" "}
          <Link {...linkTo("/agents", { org })} target="_blank" rel="noopener">
            {w.toAgents}
          </Link>
        </p>
      )}
      {agent && !agent.bound && <p>{w.firstKey}</p>}
      {answer.error && (
        <p role="alert" className="wrong-text">
          {explain(answer.error, true).title} {explain(answer.error, true).help}
        </p>
      )}
      <div className="row end">
        <Button busy={answer.isPending} autoFocus onClick={() => answer.mutate(false)}>
          {w.deny}
        </Button>
        <Button
          look="primary"
          busy={answer.isPending}
          refused={agent ? (awake ? undefined : words.auth.deviceWait) : w.noAgent}
          onClick={() => answer.mutate(true)}
        >
          {w.approve}
        </Button>
      </div>
    </div>
  );
}

/** Asking is what the client says of itself, whom the answer goes to, and what the client would get. */
function Asking({ asked }: { asked: Body<"ClientRequestBody"> }) {
  const me = useMe();
  return (
    <dl className="facts">
      <dt>{w.who}</dt>
      <dd>
        <AgentText text={me.user.email} />
      </dd>
      <dt>{w.client}</dt>
      <dd>
        <AgentText text={asked.clientName || words.auth.deviceNotTold} />
      </dd>
      <dt>{w.described}</dt>
      <dd>{asked.document ? <AgentText text={asked.document} /> : w.itself}</dd>
      <dt>{w.goesTo}</dt>
      <dd>
        <AgentText text={asked.redirectHost} /> {asked.local && w.local}
      </dd>
      <dt>{w.resource}</dt>
      <dd>
        <AgentText text={asked.resource} />
      </dd>
      <dt>{w.gets}</dt>
      <dd>
        <ul className="bullets">
          {w.rights.map((right) => (
            <li key={right}>{right}</li>
          ))}
        </ul>
        {w.never}
      </dd>
    </dl>
  );
}
