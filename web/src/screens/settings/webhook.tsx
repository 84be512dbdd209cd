import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { api } from "../../api/client";
import { useOrg } from "../../app/org";
import { useList } from "../../app/useList";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { FilterBar } from "../../ui/FilterBar";
import { Problem } from "../../ui/form";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { type Column, Table } from "../../ui/table/Table";
import { words } from "../../words/en";
import { Loaded, SettingsPage } from "./parts";
import { type Delivery, deliveriesQuery, webhookQuery } from "./queries";
import { WebhookHead } from "./webhookHead";

const w = words.settings;
const route = getRouteApi("/frame/settings/webhooks/$id");

const filters = [{ name: "status", label: w.status.toLowerCase(), values: Object.entries(w.deliveryStatus) }];

/** Webhook is one webhook with what was sent to it. */
export function Webhook() {
  const { id } = route.useParams();
  const org = useOrg();
  const allowed = org.rights.includes("webhooks.manage");
  const hook = useQuery({ ...webhookQuery(org.id, id), enabled: allowed });
  return (
    <SettingsPage tab="webhooks" fill needs="webhooks.manage" thing={clean(hook.data?.name ?? "…", 60)}>
      <Loaded query={hook}>
        {(now) => (
          <>
            <WebhookHead hook={now} />
            <Deliveries id={id} />
          </>
        )}
      </Loaded>
    </SettingsPage>
  );
}

function Deliveries({ id }: { id: string }) {
  const org = useOrg();
  const client = useQueryClient();
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const { table } = useList(deliveriesQuery(org.id, id, search.status));
  const replay = useMutation({
    mutationFn: (deliveryId: string) =>
      api.post("/organization/{orgId}/webhooks/{id}/deliveries/{deliveryId}/replay", {
        params: { path: { orgId: org.id, id, deliveryId } },
      }),
    onSuccess: () => {
      toast(w.sentAgain);
      return client.invalidateQueries({ queryKey: [org.id, "webhooks", id] });
    },
  });
  const { mutate } = replay;
  const columns = useMemo(() => columnsOf(mutate), [mutate]);
  const narrow = (change: object) => navigate({ to: ".", search: (old) => ({ ...old, ...change }) });
  return (
    <>
      <h2>{w.deliveries}</h2>
      <FilterBar filters={filters} value={{ status: search.status }} onChange={narrow} />
      <Problem error={replay.error} />
      <Table
        {...table}
        label={w.deliveries}
        columns={columns}
        rowKey={(d) => d.id}
        card={(d) => <Card delivery={d} act={columns.at(-1)?.cell(d)} />}
        empty={<Empty title={w.noDeliveries} />}
      />
    </>
  );
}

const kindOf = (d: Delivery) => words.inbox.kinds[d.kind] ?? w.testEvent;
const statusOf = (d: Delivery) => (
  <StatusBadge word={w.deliveryStatus[d.status] ?? d.status} error={d.status === "dead"} />
);

function answerOf(d: Delivery) {
  return (
    <span className="row">
      {d.httpStatus > 0 && <span>{d.httpStatus}</span>}
      {d.problem && <AgentText text={d.problem} line />}
    </span>
  );
}

function columnsOf(sendAgain: (id: string) => void): Column<Delivery>[] {
  return [
    { id: "time", head: w.deliveryColumns.time, width: "88px", cell: (d) => <Time at={d.createdAt} /> },
    { id: "kind", head: w.deliveryColumns.kind, width: "140px", cell: kindOf },
    { id: "status", head: w.deliveryColumns.status, width: "112px", cell: statusOf },
    { id: "tries", head: w.deliveryColumns.tries, width: "64px", number: true, cell: (d) => d.attempts },
    { id: "answer", head: w.deliveryColumns.answer, width: "minmax(160px, 1fr)", cell: answerOf },
    {
      id: "act",
      head: w.deliveryColumns.act,
      width: "120px",
      cell: (d) =>
        // A test is run anew instead.
        d.status === "waiting" || words.inbox.kinds[d.kind] === undefined ? (
          ""
        ) : (
          <Button look="quiet" onClick={() => sendAgain(d.id)}>
            {w.sendAgain}
          </Button>
        ),
    },
  ];
}

function Card({ delivery: d, act }: { delivery: Delivery; act: React.ReactNode }) {
  return (
    <div className="stack tight">
      <div className="row">
        {statusOf(d)}
        <span className="grow">{kindOf(d)}</span>
        <span className="small faint">
          <Time at={d.createdAt} />
        </span>
      </div>
      <span className="small muted">{answerOf(d)}</span>
      {act}
    </div>
  );
}
