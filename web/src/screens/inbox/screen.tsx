import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Check as CheckIcon } from "lucide-react";
import { useCallback, useMemo } from "react";
import { api } from "../../api/client";
import { useOrg } from "../../app/org";
import { optionsQuery } from "../../app/queries";
import { remember } from "../../app/remember";
import { usePage } from "../../app/shell/page";
import { useCounts } from "../../app/shell/useCounts";
import { TellMe } from "../../app/TellMe";
import { useList } from "../../app/useList";
import { useNew } from "../../live/useLive";
import { AgentText } from "../../ui/AgentText";
import { RiskBadge, StatusBadge } from "../../ui/Badge";
import { Button, Choice } from "../../ui/Button";
import { Check, Problem } from "../../ui/form";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { type Column, Table } from "../../ui/table/Table";
import { words } from "../../words/en";
import { placeOf } from "./place";
import { inboxQuery, type Notification, preferencesQuery } from "./queries";
import "./inbox.css";

const w = words.inbox;
const route = getRouteApi("/frame/inbox");

/** Inbox lists what the person was told, and what of it is unread. */
export function Inbox() {
  const { only } = route.useSearch();
  const org = useOrg();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { inbox: unread } = useCounts();
  usePage({ name: w.title, to: "/inbox" });
  const query = inboxQuery(org.id, only);
  const { table } = useList(query);
  const again = useCallback(() => client.invalidateQueries({ queryKey: [org.id, "inbox"] }), [client, org.id]);
  const news = useNew(
    (event) => event.kind === "notification",
    () => void again(),
  );
  const { mutate: markRead } = useMutation({
    mutationFn: (id: string) =>
      api.post("/notifications/{id}/read", { params: { path: { id }, query: { organizationId: org.id } } }),
    onSettled: again,
  });
  const markAll = useMutation({
    mutationFn: () => api.post("/notifications/read-all", { params: { query: { organizationId: org.id } } }),
    onSuccess: ({ marked }) => {
      toast(w.markedAll(marked));
      return again();
    },
  });
  const columns = useMemo(() => columnsOf(markRead), [markRead]);
  const open = useCallback(
    (n: Notification) => {
      if (!n.readAt) markRead(n.id);
      const to = placeOf(n);
      if (to) void navigate(to as Parameters<typeof navigate>[0]);
    },
    [markRead, navigate],
  );
  const show = (value: "unread" | "all") =>
    navigate({ to: "/inbox", search: (old) => ({ ...old, only: value === "unread" ? value : undefined }) });
  return (
    <div className="screen fill">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
        {news.waiting > 0 && (
          <Button className="new-pill" onClick={news.show}>
            {words.ui.newRows(news.waiting, w.news)}
          </Button>
        )}
        <Choice
          label={w.filter}
          hideLabel
          value={only ?? "all"}
          onChange={(value) => void show(value as "unread" | "all")}
          options={[
            ["all", w.only.all],
            ["unread", w.only.unread],
          ]}
        />
        {unread > 0 && (
          <Button busy={markAll.isPending} onClick={() => markAll.mutate()}>
            {w.readAll}
          </Button>
        )}
      </div>
      <Problem error={markAll.error} />
      <Table
        {...table}
        label={w.title}
        columns={columns}
        rowKey={(n) => n.id}
        card={(n) => <Card notification={n} onRead={markRead} />}
        onOpen={open}
        empty={
          only ? (
            <Empty title={w.noneUnread} action={<Button onClick={() => void show("all")}>{w.showAll}</Button>} />
          ) : (
            <Empty title={w.none}>{w.noneHelp}</Empty>
          )
        }
      />
      <Mail />
    </div>
  );
}

function Mail() {
  const org = useOrg();
  const client = useQueryClient();
  const query = preferencesQuery(org.id);
  const preferences = useQuery(query);
  const sendsNone = useQuery(optionsQuery).data?.mail === "none";
  const change = useMutation({
    mutationFn: (mail: boolean) =>
      api.put("/notifications/preferences", { params: { query: { organizationId: org.id } }, body: { mail } }),
    onSuccess: (now) => remember(client, query, now),
  });
  if (!preferences.data) return null;
  return (
    <div className="inbox-mail">
      <Check
        label={w.mail}
        hint={w.mailHelp}
        refused={sendsNone ? w.mailNone : undefined}
        checked={preferences.data.mail && !sendsNone}
        onChange={(mail) => change.mutate(mail)}
      />
      <TellMe />
      <Problem error={change.error} />
    </div>
  );
}

const kindOf = (n: Notification) => w.kinds[n.kind] ?? n.kind;

function columnsOf(markRead: (id: string) => void): Column<Notification>[] {
  return [
    { id: "time", head: w.columns.time, width: "88px", cell: (n) => <Time at={n.createdAt} /> },
    {
      id: "what",
      head: w.columns.what,
      width: "minmax(260px, 3fr)",
      cell: (n) => <Title notification={n} onOpen={() => n.readAt || markRead(n.id)} />,
    },
    { id: "kind", head: w.columns.kind, width: "140px", cell: kindOf },
    { id: "risk", head: w.columns.risk, width: "104px", cell: (n) => (n.risk ? <RiskBadge risk={n.risk} /> : "–") },
    {
      id: "act",
      head: w.columns.act,
      width: "136px",
      cell: (n) => (n.readAt ? "" : <MarkRead notification={n} onRead={markRead} />),
    },
  ];
}

function Title({ notification: n, onOpen }: { notification: Notification; onOpen: () => void }) {
  const to = placeOf(n);
  return (
    <span className={n.readAt ? "row muted" : "row inbox-unread"}>
      {!n.readAt && <span className="inbox-dot" aria-hidden />}
      {to ? (
        <Link className="one-line" {...to} onClick={onOpen}>
          <AgentText text={n.title} line />
        </Link>
      ) : (
        <AgentText text={n.title} line />
      )}
      {!n.readAt && <span className="hidden-text">{w.unread}</span>}
    </span>
  );
}

function MarkRead({ notification: n, onRead }: { notification: Notification; onRead: (id: string) => void }) {
  return (
    <Button look="quiet" onClick={() => onRead(n.id)}>
      <CheckIcon size={14} aria-hidden />
      {w.markRead}
    </Button>
  );
}

function Card({ notification: n, onRead }: { notification: Notification; onRead: (id: string) => void }) {
  return (
    <div className="stack tight">
      <div className="row">
        <StatusBadge word={kindOf(n)} />
        <span className="grow small faint">
          <Time at={n.createdAt} />
        </span>
        {n.risk && <RiskBadge risk={n.risk} />}
      </div>
      <Title notification={n} onOpen={() => n.readAt || onRead(n.id)} />
      {!n.readAt && <MarkRead notification={n} onRead={onRead} />}
    </div>
  );
}
