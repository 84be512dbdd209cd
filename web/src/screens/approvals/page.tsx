import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { statusOf } from "../../api/errors";
import { useMe, useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { clean } from "../../ui/clean";
import { Empty, SkeletonLines } from "../../ui/states";
import { toast } from "../../ui/Toast";
import { approvals as w } from "../../words/approvals";
import { words } from "../../words/en";
import { useLeaving } from "./parts";
import { readRequest, requestKey, requestQuery } from "./queries";
import { Request } from "./Request";

const route = getRouteApi("/frame/approvals/$id");

/** ApprovalPage is one request by itself: where the links of mails and webhooks lead. */
export function ApprovalPage() {
  const { id } = route.useParams();
  const org = useOrg();
  useLeaving();
  const request = useQuery(requestQuery(org.id, id));
  usePage({ name: w.title, to: "/approvals" }, { name: request.data?.tool ?? "…" });
  const missing = [404, 400, 422].includes(statusOf(request.error));
  return (
    <div className="screen approval-page">
      {!request.data && <h1>{w.title}</h1>}
      {missing && !request.data ? <Elsewhere id={id} /> : <Request id={id} level={1} />}
    </div>
  );
}

/** Elsewhere looks for the request in the other organizations of the person: the links of mails name none. */
function Elsewhere({ id }: { id: string }) {
  const org = useOrg();
  const me = useMe();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [looking, setLooking] = useState(true);
  useEffect(() => {
    let left = false;
    const look = async () => {
      for (const other of me.organizations.filter((o) => o.id !== org.id)) {
        const found = await readRequest(other.id, id).catch(() => undefined);
        if (left) return;
        if (!found) continue;
        client.setQueryData(requestKey(other.id, id), found);
        toast(words.shell.openedIn(clean(other.name)));
        return void navigate({ to: "/approvals/$id", params: { id }, search: { org: other.id }, replace: true });
      }
      setLooking(false);
    };
    void look();
    return () => {
      left = true;
    };
  }, [id, org.id, me.organizations, client, navigate]);
  if (looking) return <SkeletonLines lines={6} />;
  return (
    <Empty
      title={w.notHere}
      action={
        <Link className="button" to="/approvals">
          {w.toQueue}
        </Link>
      }
    >
      {w.notHereHelp}
    </Empty>
  );
}
