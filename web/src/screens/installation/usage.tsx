import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMe } from "../../app/org";
import { Periods } from "../../app/periods/Periods";
import { AgentText } from "../../ui/AgentText";
import { count, money } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { SkeletonLines } from "../../ui/states";
import { periods as w } from "../../words/periods";
import { InstallationPage } from "./parts";
import { organizationsQuery, usageQuery } from "./queries";

const route = getRouteApi("/frame/installation/usage");

// The server lists no more organizations than these.
const mostListed = 200;

/** InstallationUsage is what all organizations used, for the people who run the server. */
export function InstallationUsage() {
  const { by = "day" } = route.useSearch();
  const navigate = useNavigate();
  const { operator } = useMe();
  const used = useQuery({ ...usageQuery(by), enabled: operator });
  return (
    <InstallationPage tab="usage">
      <p className="muted">{w.installationHelp}</p>
      <Periods
        by={by}
        onChange={(one) =>
          navigate({ to: "/installation/usage", search: { by: one === "day" ? undefined : one } as never })
        }
        query={used}
        file={`/admin/dashboard/usage?format=csv&by=${by}`}
      />
      <Organizations />
    </InstallationPage>
  );
}

function Organizations() {
  const all = useQuery(organizationsQuery);
  return (
    <section className="card stack tight">
      <h2>{w.organizations}</h2>
      <Loaded query={all} skeleton={<SkeletonLines lines={4} />}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="muted">{w.nobody}</p>
          ) : (
            <div className="usage-table" tabIndex={0} role="region" aria-label={w.organizations}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">{w.organization}</th>
                    <th scope="col" className="number">
                      {w.decisions}
                    </th>
                    <th scope="col" className="number">
                      {w.spans}
                    </th>
                    <th scope="col" className="number">
                      {w.tokens}
                    </th>
                    <th scope="col" className="number">
                      {w.cost}
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((o) => (
                    <tr key={o.organizationId}>
                      <th scope="row">
                        <AgentText text={o.name || o.organizationId} />
                      </th>
                      <td className="number">{count(o.decisions)}</td>
                      <td className="number">{count(o.spans)}</td>
                      <td className="number">{count(o.tokens)}</td>
                      <td className="number">{money(o.costUsd)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {items.length >= mostListed && <p className="small faint">{w.cut(mostListed)}</p>}
            </div>
          )
        }
      </Loaded>
    </section>
  );
}
