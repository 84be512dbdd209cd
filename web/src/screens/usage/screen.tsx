import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { pathWith } from "../../app/ExportMenu";
import { useOrg } from "../../app/org";
import { Periods } from "../../app/periods/Periods";
import { StartLink } from "../../app/StartLink";
import { usePage } from "../../app/shell/page";
import { Loaded } from "../../ui/Loaded";
import { RangePicker } from "../../ui/RangePicker";
import { type RangeSearch, useBounds } from "../../ui/range";
import { Empty, SkeletonLines } from "../../ui/states";
import { words } from "../../words/en";
import { Charts } from "./Charts";
import { Items } from "./Items";
import { Price } from "./Price";
import { type Group, groups, meteredQuery, usageQuery } from "./queries";
import "./usage.css";

const w = words.usage;
const route = getRouteApi("/frame/usage");

/** Usage answers what tokens cost: by what, when, and why. */
export function Usage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const org = useOrg();
  usePage({ name: w.title, to: "/usage" });
  const by = search.by ?? "model";
  const bounds = useBounds(search, "7d");
  const items = useQuery(usageQuery(org.id, by, bounds));
  const period = search.period ?? "day";
  const metered = useQuery(meteredQuery(org.id, period));
  const change = (changed: object) => navigate({ to: "/usage", search: (old: object) => ({ ...old, ...changed }) });
  return (
    <div className="screen">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
        <RangePicker value={search} fallback="7d" onChange={(range: RangeSearch) => change(range)} />
      </div>
      <Groups by={by} onChange={(group) => change({ by: group === "model" ? undefined : group, price: undefined })} />
      {items.data?.length !== 0 && (
        <Charts
          by={by}
          bounds={bounds}
          onRange={change}
          key={JSON.stringify([by, search.range, search.from, search.to])}
        />
      )}
      <section className="card stack tight">
        <Loaded query={items} skeleton={<SkeletonLines lines={8} />}>
          {(found) =>
            found.length === 0 ? (
              <Empty title={w.none} action={<StartLink>{w.send}</StartLink>}>
                {w.noneHelp}
              </Empty>
            ) : (
              <Items by={by} items={found} bounds={bounds} />
            )
          }
        </Loaded>
      </section>
      <Periods
        by={period}
        onChange={(one) => change({ period: one === "day" ? undefined : one })}
        query={metered}
        file={pathWith("/dashboard/usage", { organizationId: org.id, by: period, format: "csv" })}
      />
      {search.price && (
        <Price
          model={search.price}
          item={items.data?.find((i) => i.key === search.price)}
          onClose={() => change({ price: undefined })}
        />
      )}
    </div>
  );
}

function Groups({ by, onChange }: { by: Group; onChange: (by: Group) => void }) {
  return (
    <div className="row wrap" role="group" aria-label={w.by}>
      <span className="small muted">{w.by}</span>
      {groups.map((group) => (
        <button
          key={group}
          type="button"
          className="choice"
          aria-pressed={group === by}
          onClick={() => onChange(group)}
        >
          {w.groups[group]}
        </button>
      ))}
    </div>
  );
}
