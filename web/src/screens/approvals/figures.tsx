import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Body } from "../../api/client";
import { linkTo } from "../../app/link";
import { useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { Choice } from "../../ui/Button";
import { count, duration, percent } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { Empty } from "../../ui/states";
import { Tile, Tiles } from "../../ui/Tile";
import { approvals as w } from "../../words/approvals";
import { words } from "../../words/en";
import { Tabs, useName } from "./parts";
import { figuresQuery } from "./queries";

const route = getRouteApi("/frame/approvals/figures");
const days = { "7d": 7, "30d": 30, "90d": 90 };
type Range = keyof typeof days;

/** Figures are whether people keep up with the requests, and whether they still read them. */
export function Figures() {
  const org = useOrg();
  const navigate = useNavigate();
  const { range = "30d" } = route.useSearch();
  usePage({ name: w.title, to: "/approvals" }, { name: w.tabs.figures });
  const allowed = (org.rights as string[]).includes("approvals.decide");
  const figures = useQuery({ ...figuresQuery(org.id, days[range]), enabled: allowed });
  return (
    <div className="screen">
      <div className="screen-head">
        <h1 className="grow">{w.tabs.figures}</h1>
        <Choice<Range>
          label={w.range}
          hideLabel
          value={range}
          options={Object.entries(w.ranges) as [Range, string][]}
          onChange={(next) =>
            void navigate({
              to: "/approvals/figures",
              search: (old: object) => ({ ...old, range: next === "30d" ? undefined : next }),
            })
          }
        />
      </div>
      <Tabs shown="figures" />
      {allowed ? (
        <Loaded query={figures}>{(found) => <Shown figures={found} />}</Loaded>
      ) : (
        <Empty title={words.errors.forbidden}>{w.forbiddenFigures}</Empty>
      )}
    </div>
  );
}

type All = Body<"ApprovalFiguresBody">;
const seconds = (s: number | null | undefined) => (s === null || s === undefined ? "–" : duration(s * 1000));

function Shown({ figures: f }: { figures: All }) {
  const t = w.tiles;
  const of = (status: string) => linkTo("/approvals", { status });
  // Each approver's yes counts, also where several are needed.
  const yeses = f.approvers.reduce((sum, a) => sum + a.approved, 0);
  return (
    <>
      <Tiles>
        <Tile label={t.waiting} value={count(f.waiting)} link={linkTo("/approvals")} />
        <Tile label={t.opened} value={count(f.opened)} link={of("all")} />
        <Tile label={t.approved} value={count(f.approved)} link={of("approved")} />
        <Tile label={t.rejected} value={count(f.rejected)} link={of("rejected")} />
        <Tile label={t.expired} value={count(f.expired)} link={of("expired")} />
        <Tile label={t.covered} value={count(f.covered)} link={linkTo("/approvals/standing")} />
        <Tile label={t.median} value={seconds(f.medianSeconds)} />
        <Tile label={t.quick} value={count(f.quickYeses)} />
      </Tiles>
      <section className="card stack">
        <h2>{w.approvers}</h2>
        {yeses > 0 && (
          <p className={f.quickYeses > 0 ? "wrong-text" : ""}>{w.quick(count(f.quickYeses), count(yeses))}</p>
        )}
        <p className="muted">{w.figuresHelp}</p>
        {f.approvers.length === 0 ? <p>{w.noFigures}</p> : <Approvers figures={f} />}
      </section>
    </>
  );
}

function Approvers({ figures: f }: { figures: All }) {
  const name = useName();
  const c = w.columns;
  const rows = useMemo(() => [...f.approvers].sort((a, b) => b.quickYeses - a.quickYeses), [f.approvers]);
  return (
    <div className="approval-figures" tabIndex={0} role="region" aria-label={w.approvers}>
      <table>
        <thead>
          <tr>
            {[c.approver, c.approved, c.rejected, c.share, c.median, c.quick].map((head, i) => (
              <th key={head} scope="col" className={i > 0 ? "number" : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((a) => (
            <tr key={a.userId}>
              <th scope="row">
                <bdi>{name(a.userId)}</bdi>
              </th>
              <td className="number">{count(a.approved)}</td>
              <td className="number">{count(a.rejected)}</td>
              <td className="number">{a.shareApproved === null ? "–" : percent(a.shareApproved ?? 0, 1)}</td>
              <td className="number">{seconds(a.medianSeconds)}</td>
              <td className="number">{count(a.quickYeses)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
