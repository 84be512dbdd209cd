import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { api } from "../../api/client";
import { statusOf } from "../../api/errors";
import { fresh } from "../../app/queries";
import { usePage } from "../../app/shell/page";
import { clean } from "../../ui/clean";
import { Loaded } from "../../ui/Loaded";
import { words } from "../../words/en";

const w = words.connection;
const route = getRouteApi("/frame/connected");

/**
 * Connected is where authorization servers send people back to. What they bring is sent on in the name of whoever is
 * signed in: the server takes it only from the person who began.
 */
export function Connected() {
  const { state } = route.useSearch();
  usePage({ name: w.title });
  return (
    <div className="screen">
      <h1>{w.title}</h1>
      {state ? <Finishing state={state} /> : <p>{w.nothing}</p>}
    </div>
  );
}

function Finishing({ state }: { state: string }) {
  const { code, iss, error } = route.useSearch();
  // It is good once: a page that is shown again must not ask again.
  const made = useQuery({
    queryKey: ["connection", state],
    queryFn: () =>
      api.post("/connections/finish", {
        body: { state, ...(code ? { code } : {}), ...(iss ? { iss } : {}), ...(error ? { error } : {}) },
      }),
    retry: false,
    staleTime: fresh.never,
    gcTime: Number.POSITIVE_INFINITY,
    refetchOnMount: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  if (statusOf(made.error) === 404) return <p role="alert">{w.notBegun}</p>;
  return (
    <Loaded query={made}>
      {(found) => (
        <div className="card stack">
          <p role="status">{w.connected(clean(found.serverName, 60))}</p>
          <p className="muted">{w.connectedHelp}</p>
          <div className="row end">
            <Link className="button" to="/servers/$id" params={{ id: found.serverId }}>
              {w.toServer}
            </Link>
          </div>
        </div>
      )}
    </Loaded>
  );
}
