import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { statusOf } from "../../api/errors";
import { useOrg } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { Loaded } from "../../ui/Loaded";
import { Empty, SkeletonLines } from "../../ui/states";
import { Tabs } from "../../ui/Tabs";
import { policies as w } from "../../words/policies";
import { Acts } from "./Acts";
import { BindingsTab } from "./Bindings";
import { Edit } from "./Edit";
import { FindingsTab } from "./Findings";
import { PolicyStatus } from "./parts";
import { type Policy, policyQuery } from "./queries";
import { ReplayTab } from "./Replay";
import { ShadowTab } from "./Shadow";
import { Tests } from "./Tests";
import { useDraft } from "./useDraft";
import { Versions } from "./Versions";
import "./policies.css";

const route = getRouteApi("/frame/policies/$id");

/** PolicyDetail is one policy: its text, what it would do, and what it does. */
export function PolicyDetail() {
  const { id } = route.useParams();
  const org = useOrg();
  const policy = useQuery(policyQuery(org.id, id));
  usePage({ name: w.title, to: "/policies" }, { name: policy.data?.name ?? "…" });
  return (
    <div className="screen">
      {!policy.data && <h1>{w.title}</h1>}
      {statusOf(policy.error) === 404 || statusOf(policy.error) === 400 ? (
        <Empty
          title={w.notHere}
          action={
            <Link className="button" to="/policies">
              {w.toList}
            </Link>
          }
        >
          {w.notHereHelp}
        </Empty>
      ) : (
        <Loaded query={policy} skeleton={<SkeletonLines lines={10} />}>
          {(found) => <Shown key={found.id} policy={found} />}
        </Loaded>
      )}
    </div>
  );
}

function Shown({ policy: p }: { policy: Policy }) {
  const { tab = "edit" } = route.useSearch();
  const org = useOrg();
  const draft = useDraft(org.id, p.id, p.policyVersion);
  return (
    <>
      <div className="screen-head">
        <h1>
          <AgentText text={p.name} short />
        </h1>
        <PolicyStatus policy={p} />
        <span className="muted">{w.versionOf(p.activeVersion, p.policyVersion)}</span>
        <span className="grow" />
        <Acts policy={p} changed={draft.changed} />
      </div>
      {p.face === "profile" && (
        <p className="notice">
          {w.isProfile} <Link to="/policies/proposals">{w.proposals}</Link>
        </p>
      )}
      <Tabs label={w.tabsLabel} tabs={Object.entries(w.tabs)} shown={tab} />
      {draft.changed && (tab === "replay" || tab === "shadow" || tab === "findings") && (
        <p className="notice">{w.unsaved}</p>
      )}
      {tab === "edit" && <Edit policy={p} draft={draft} />}
      {tab === "tests" && <Tests policy={p} draft={draft} />}
      {tab === "replay" && <ReplayTab policy={p} />}
      {tab === "shadow" && <ShadowTab policy={p} />}
      {tab === "versions" && <Versions policy={p} />}
      {tab === "bindings" && <BindingsTab policy={p} />}
      {tab === "findings" && <FindingsTab policy={p} />}
    </>
  );
}
