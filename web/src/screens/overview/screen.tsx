import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { usePage } from "../../app/shell/page";
import { RangePicker } from "../../ui/RangePicker";
import { type RangeSearch, useBounds } from "../../ui/range";
import { words } from "../../words/en";
import { Agents } from "./Agents";
import { Decisions } from "./Decisions";
import { Denials, Failing } from "./Denials";
import { Newest } from "./Newest";
import { Numbers } from "./Numbers";
import { Traffic } from "./Traffic";
import { Quiet, Welcome } from "./Welcome";
import "./overview.css";

const w = words.overview;
const route = getRouteApi("/frame/");

/** Overview answers what agents did, cost and were denied. */
export function Overview() {
  const search = route.useSearch();
  const navigate = useNavigate();
  usePage({ name: w.title, to: "/" });
  const bounds = useBounds(search, "7d");
  const setRange = (range: RangeSearch) => navigate({ to: "/", search: (old: object) => ({ ...old, ...range }) });
  return (
    <div className="screen">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
        <RangePicker value={search} fallback="7d" onChange={setRange} />
      </div>
      <Welcome bounds={bounds}>
        <Quiet bounds={bounds} onRange={setRange} />
        <Numbers bounds={bounds} />
        <Decisions bounds={bounds} range={search} onRange={setRange} />
        <div className="columns">
          <div className="overview-column">
            <Denials bounds={bounds} />
            <Newest />
          </div>
          <div className="overview-column">
            <Failing bounds={bounds} />
            <Agents />
          </div>
        </div>
        <Traffic bounds={bounds} />
      </Welcome>
    </div>
  );
}
