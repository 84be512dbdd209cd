import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { useOrg } from "../../app/org";
import { remember } from "../../app/remember";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { ConfirmDialog } from "../../ui/Dialog";
import { Problem } from "../../ui/form";
import { count, duration } from "../../ui/format";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { ForwardingForm } from "./forwardingForm";
import { Loaded, SettingsPage } from "./parts";
import { forwardingQuery, forwardingStatusQuery, within } from "./queries";

const w = words.settings;

/** Forwarding sends traces and decisions to a collector of the organization. */
export function Forwarding() {
  const org = useOrg();
  const allowed = org.rights.includes("forwarding.manage");
  const settings = useQuery({ ...forwardingQuery(org.id), enabled: allowed });
  const [begun, setBegun] = useState(false);
  return (
    <SettingsPage tab="forwarding" needs="forwarding.manage">
      <Loaded query={settings}>
        {(now) =>
          now || begun ? (
            <div className="setting-split">
              <ForwardingForm key={org.id} now={now} />
              {now && <Status onRemoved={() => setBegun(false)} />}
            </div>
          ) : (
            <Empty
              title={w.forwardingNone}
              action={
                <Button look="primary" onClick={() => setBegun(true)}>
                  {w.forwardingSetUp}
                </Button>
              }
            >
              {w.forwardingHelp}
            </Empty>
          )
        }
      </Loaded>
    </SettingsPage>
  );
}

function Status({ onRemoved }: { onRemoved: () => void }) {
  const org = useOrg();
  const client = useQueryClient();
  const status = useQuery(forwardingStatusQuery(org.id));
  const [removing, setRemoving] = useState(false);
  const test = useMutation({
    mutationFn: () => api.post("/organization/{orgId}/forwarding/test", { params: within(org.id) }),
    onSuccess: (t) => {
      if (t.taken) toast(w.forwardingTaken(t.httpStatus));
      else toast(w.forwardingNotTaken(clean(t.problem || String(t.httpStatus), 200)), { error: true });
    },
  });
  return (
    <section className="card stack">
      <Loaded query={status}>
        {(s) => (
          <dl className="facts">
            <dt>{w.status}</dt>
            <dd>
              <StatusBadge word={s.enabled ? w.on : w.off} />
            </dd>
            <dt>{w.lastSent}</dt>
            <dd>{s.lastSentAt ? <Time at={s.lastSentAt} /> : w.never}</dd>
            <dt>{w.lag}</dt>
            <dd>{s.lagSeconds > 0 ? duration(s.lagSeconds * 1000) : w.nothingWaits}</dd>
            <dt>{w.sent}</dt>
            <dd>{w.sentText(count(s.sentSpans), count(s.sentDecisions))}</dd>
            <dt>{w.refused}</dt>
            <dd>{count(s.refused)}</dd>
            <dt>{w.lost}</dt>
            <dd>{w.lostText(count(s.lost.traces), count(s.lost.decisions))}</dd>
            {s.lastProblem && (
              <>
                <dt>{w.lastProblem}</dt>
                <dd className="wrong-text">
                  <AgentText text={s.lastProblem} />
                </dd>
              </>
            )}
            {s.retryAt && (
              <>
                <dt>{w.retryAt}</dt>
                <dd>
                  <Time at={s.retryAt} form="absolute" />
                </dd>
              </>
            )}
          </dl>
        )}
      </Loaded>
      <Problem error={test.error} />
      <div className="row">
        <Button busy={test.isPending} onClick={() => test.mutate()}>
          {w.test}
        </Button>
        <Button look="quiet" onClick={() => setRemoving(true)}>
          {w.remove}
        </Button>
      </div>
      <ConfirmDialog
        open={removing}
        onClose={() => setRemoving(false)}
        title={w.forwardingRemove}
        act={w.remove}
        danger
        onConfirm={async () => {
          await api.delete("/organization/{orgId}/forwarding", { params: within(org.id) });
          await remember(client, forwardingQuery(org.id), null);
          onRemoved();
        }}
      >
        <p>{w.forwardingRemoveHelp}</p>
      </ConfirmDialog>
    </section>
  );
}
