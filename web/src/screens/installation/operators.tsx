import { useQuery } from "@tanstack/react-query";
import { useMe } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { operators as w } from "../../words/installation";
import { InstallationPage } from "./parts";
import { operatorsQuery } from "./queries";

/** Operators lists who runs the installation. A command on the server changes it, and nothing here does. */
export function Operators() {
  const { operator, user } = useMe();
  const all = useQuery({ ...operatorsQuery, enabled: operator });
  return (
    <InstallationPage tab="operators">
      <p className="muted">
        {w.help} <code>{w.command}</code>
      </p>
      <Loaded query={all}>
        {({ items }) => (
          <ul className="card lines">
            {items.map((o) => (
              <li key={o.id}>
                <div className="grow">
                  <strong>
                    <AgentText text={o.email} short />
                  </strong>
                  {o.id === user.id && <span className="muted"> {w.you}</span>}
                  {o.name && o.name !== o.email && (
                    <p className="small muted">
                      <AgentText text={o.name} short />
                    </p>
                  )}
                </div>
                <span className="small faint">
                  {w.since} <Time at={o.since} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </InstallationPage>
  );
}
