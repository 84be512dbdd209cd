import { useQuery } from "@tanstack/react-query";
import { useOrg } from "../../app/org";
import { words } from "../../words/en";
import { Loaded, SettingsPage } from "./parts";
import { retentionQuery } from "./queries";

const w = words.settings;

/** Retention says how long things are kept. */
export function Retention() {
  const org = useOrg();
  const kept = useQuery(retentionQuery(org.id));
  return (
    <SettingsPage tab="retention" needs="telemetry.read">
      <p className="muted">{w.retentionHelp}</p>
      <Loaded query={kept}>
        {({ traceDays, payloadDays }) => (
          <dl className="card facts setting-form">
            <dt>{w.traceDays}</dt>
            <dd>{w.days(traceDays)}</dd>
            <dt>{w.payloadDays}</dt>
            <dd>{payloadDays === null ? w.forever : w.days(payloadDays)}</dd>
            <dt>{w.proofs}</dt>
            <dd>{w.forever}</dd>
          </dl>
        )}
      </Loaded>
    </SettingsPage>
  );
}
