import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMe } from "../../app/org";
import { useList } from "../../app/useList";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button, Choice } from "../../ui/Button";
import { CopyButton, IdChip } from "../../ui/CopyButton";
import { Loaded } from "../../ui/Loaded";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { access as w } from "../../words/installation";
import { ApproveAccess, RejectAccess, SendAgain } from "./accessDialogs";
import { InstallationPage, More } from "./parts";
import { type AccessRequest, accessQuery } from "./queries";

const route = getRouteApi("/frame/installation/access");

type Status = keyof typeof w.statuses;
type Act = "approve" | "reject" | "again";

/** AccessRequests lists who asks for access, for the people who run the server: they answer. */
export function AccessRequests() {
  const { status = "pending" } = route.useSearch();
  const navigate = useNavigate();
  const show = (one: Status) =>
    navigate({ to: "/installation/access", search: { status: one === "pending" ? undefined : one } as never });
  return (
    <InstallationPage
      tab="access"
      acts={
        <Choice
          label={w.filter}
          hideLabel
          value={status}
          onChange={(one) => void show(one)}
          options={Object.entries(w.statuses) as [Status, string][]}
        />
      }
    >
      <List status={status} onAll={() => void show("all")} />
    </InstallationPage>
  );
}

function List({ status, onAll }: { status: Status; onAll: () => void }) {
  const { list, rows, table } = useList(accessQuery(status === "all" ? undefined : status));
  const [asked, setAsked] = useState<{ act: Act; request: AccessRequest }>();
  const close = () => setAsked(undefined);
  const dialog = asked && { request: asked.request, onClose: close };
  return (
    <Loaded query={list}>
      {() => (
        <>
          {rows.length === 0 ? (
            <Nobody status={status} onAll={onAll} />
          ) : (
            <ul className="card lines">
              {rows.map((request) => (
                <Row key={request.id} request={request} onAct={(act) => setAsked({ act, request })} />
              ))}
            </ul>
          )}
          <More {...table} />
          {asked?.act === "approve" && dialog && <ApproveAccess {...dialog} />}
          {asked?.act === "reject" && dialog && <RejectAccess {...dialog} />}
          {asked?.act === "again" && dialog && <SendAgain {...dialog} />}
        </>
      )}
    </Loaded>
  );
}

function Nobody({ status, onAll }: { status: Status; onAll: () => void }) {
  const address = `${location.origin}/ui/request-access`;
  if (status !== "pending" && status !== "all")
    return <Empty title={w.noneSuch} action={<Button onClick={onAll}>{w.showAll}</Button>} />;
  return (
    <Empty title={w.none}>
      <p>{w.noneHelp}</p>
      <p className="row wrap">
        <code>{address}</code> <CopyButton text={address} />
      </p>
    </Empty>
  );
}

function Row({ request, onAct }: { request: AccessRequest; onAct: (act: Act) => void }) {
  const { email, name, company, message, status } = request;
  return (
    <li>
      <div className="grow stack tight">
        <div className="row wrap">
          <strong>
            <AgentText text={email} short />
          </strong>
          <StatusBadge word={w.badges[status]} />
          <span className="small faint">
            <Time at={request.createdAt} />
          </span>
        </div>
        {(name || company) && (
          <p className="small muted">
            <AgentText text={name} short />
            {name && company && " · "}
            <AgentText text={company} short />
          </p>
        )}
        {message && (
          <p>
            <AgentText text={message} fold={600} />
          </p>
        )}
        {request.decidedAt && <Answered request={request} at={request.decidedAt} />}
      </div>
      <div className="row wrap">
        {status === "pending" && (
          <>
            <Button onClick={() => onAct("reject")}>{w.reject}</Button>
            <Button onClick={() => onAct("approve")}>{w.approve}</Button>
          </>
        )}
        {status === "approved" && !request.organizationId && <Button onClick={() => onAct("again")}>{w.again}</Button>}
      </div>
    </li>
  );
}

function Answered({ request, at }: { request: AccessRequest; at: string }) {
  const { user, organizations } = useMe();
  const { decidedBy, organizationId, role, reason } = request;
  const organization = organizations.find((o) => o.id === organizationId);
  return (
    <div className="small muted">
      <p>
        {w.answered} <Time at={at} form="absolute" />
        {decidedBy === user.id ? ` ${w.byYou}` : decidedBy ? ` ${w.by} ` : ""}
        {decidedBy && decidedBy !== user.id && <IdChip id={decidedBy} />}
        {organizationId && (
          <>
            , {w.invitedTo}{" "}
            {organization ? <AgentText text={organization.name} short /> : <IdChip id={organizationId} />}
            {role && ` ${w.asRole(role)}`}
          </>
        )}
      </p>
      {reason && (
        <p>
          {w.reason} <AgentText text={reason} />
        </p>
      )}
    </div>
  );
}
