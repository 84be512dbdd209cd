import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { KeyChip } from "../../app/KeyChip";
import { useOrg } from "../../app/org";
import { AgentText, ToolName } from "../../ui/AgentText";
import { RiskBadge } from "../../ui/Badge";
import { IdChip } from "../../ui/CopyButton";
import { Loaded } from "../../ui/Loaded";
import { Time } from "../../ui/Time";
import { useNarrow } from "../../ui/useNarrow";
import { approvals as w } from "../../words/approvals";
import { deciders, ruleName } from "../../words/deciders";
import { Acts } from "./Acts";
import { AnswerDialog, type Asks } from "./AnswerDialog";
import { Arguments } from "./Arguments";
import { useProgress } from "./answer";
import { Like } from "./Like";
import { Outcome, Sent } from "./Outcome";
import { Fact, Left, Status, useName, useSeconds } from "./parts";
import { requestKey, requestQuery, type Shown } from "./queries";

/** Request is one request with everything that helps to answer it, and the answer. */
export function Request({ id, level }: { id: string; level: 1 | 2 }) {
  const request = useQuery(requestQuery(useOrg().id, id));
  return <Loaded query={request}>{(r) => <Card key={r.delegationId} request={r} level={level} />}</Loaded>;
}

function Card({ request: r, level }: { request: Shown; level: 1 | 2 }) {
  const progress = useProgress(r.delegationId);
  const [end, setEnd] = useState<HTMLElement | null>(null);
  const [asked, setAsked] = useState<{ asks: Asks; seen: Shown }>();
  const narrow = useNarrow();
  const parts = [<Risk key="risk" request={r} />, <Arguments key="arguments" request={r} end={setEnd} />];
  const seen = useSeen(end);
  const over = useOver(r);
  return (
    <article className="approval-card" aria-label={w.id}>
      <div className="approval-body stack">
        <Head request={r} level={level} />
        <Sent progress={progress} />
        {r.status !== "pending" && <Outcome request={r} />}
        {/* A phone shows first what exactly runs. */}
        {narrow ? parts.reverse() : parts}
        <Facts request={r} />
        <Like request={r} />
      </div>
      {r.status === "pending" && (
        <Acts
          request={r}
          progress={progress}
          over={over}
          seen={seen}
          onUnread={() => end?.scrollIntoView({ block: "center" })}
          onAsk={(asks) => setAsked({ asks, seen: r })}
        />
      )}
      {asked && <AnswerDialog {...asked} now={r} onClose={() => setAsked(undefined)} />}
    </article>
  );
}

/** useSeen is true once something was in view, and not only behind the answers that cover the lower edge. */
function useSeen(end: HTMLElement | null): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!end || seen) return;
    let watch: IntersectionObserver | undefined;
    const begin = () => {
      watch?.disconnect();
      const acts = end.closest(".approval-card")?.querySelector(".approval-acts");
      const covered = acts ? Math.max(0, innerHeight - acts.getBoundingClientRect().top) : 0;
      watch = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && setSeen(true), {
        rootMargin: `0px 0px -${Math.ceil(covered)}px 0px`,
      });
      watch.observe(end);
    };
    begin();
    addEventListener("resize", begin);
    return () => {
      removeEventListener("resize", begin);
      watch?.disconnect();
    };
  }, [end, seen]);
  return seen;
}

// This clock may differ from the server's: when the time seems over, the server is asked, and its word counts.
function useOver(r: Shown): boolean {
  const client = useQueryClient();
  const org = useOrg();
  const now = useSeconds();
  const over = r.status === "pending" && Date.parse(r.expiresAt) <= now;
  useEffect(() => {
    if (!over) return;
    const ask = () => void client.invalidateQueries({ queryKey: requestKey(org.id, r.delegationId) });
    ask();
    const timer = setInterval(ask, 5000);
    return () => clearInterval(timer);
  }, [over, client, org.id, r.delegationId]);
  return over;
}

function Head({ request: r, level }: { request: Shown; level: 1 | 2 }) {
  const Title = level === 1 ? "h1" : "h2";
  const whom = r.requesterEmail || r.userId;
  return (
    <header className="stack tight">
      <div className="row wrap">
        {r.risk.level && <RiskBadge risk={r.risk.level} />}
        {r.status === "pending" ? (
          <span className="muted">
            {r.needed > 1 ? `${w.yeses(r.votes.length, r.needed)} · ` : ""}
            <Left request={r} />
          </span>
        ) : (
          <Status request={r} />
        )}
        {r.repeats > 0 && <span className="small faint">{w.askedAgain(r.repeats)}</span>}
      </div>
      <Title className="approval-tool">
        <ToolName server={r.server} tool={r.tool} />
      </Title>
      <p className="muted">
        {r.agentId ? (
          <>
            {w.by}{" "}
            <Link to="/agents/$id" params={{ id: r.agentId }}>
              <AgentText text={r.agentId} short />
            </Link>
          </>
        ) : (
          w.anyAgent
        )}
        {whom && (
          <>
            , {w.forWhom} <AgentText text={whom} short />
          </>
        )}
      </p>
    </header>
  );
}

function Risk({ request: r }: { request: Shown }) {
  const { level, reasons } = r.risk;
  return (
    <section className="stack tight" aria-label={w.risk}>
      <h3>{w.risk}</h3>
      {reasons.length === 0 && <p className="muted">{level ? w.noReasons : w.riskUnknown}</p>}
      <ul className="risk-list">
        {reasons.map((reason) => (
          <li key={reason.code}>
            <AgentText text={reason.words} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Facts({ request: r }: { request: Shown }) {
  const name = useName();
  const texts: [string, string | undefined][] = [
    [w.message, r.message],
    [w.reason, r.reason],
    [w.askedFor, r.askedFor],
  ];
  return (
    <section className="stack tight" aria-label={w.facts}>
      <h3>{w.facts}</h3>
      <dl className="facts">
        {texts.map(([of, text]) =>
          text ? (
            <Fact key={of} name={of}>
              <AgentText text={text} fold={400} />
            </Fact>
          ) : null,
        )}
        {r.amount !== null && r.amount !== undefined && <Fact name={w.amount}>{String(r.amount)}</Fact>}
        {(r.policyName || r.rule) && (
          <Fact name={w.rule}>
            <Rule request={r} />
            {r.policyRule?.when && (
              <>
                :{" "}
                <code>
                  <AgentText text={r.policyRule.when} short />
                </code>
              </>
            )}
          </Fact>
        )}
        {r.planId && (
          <Fact name={w.planName}>
            <Link to="/plans/$id" params={{ id: r.planId }}>
              <AgentText text={r.planGoal || r.planId} short />
            </Link>
          </Fact>
        )}
        {r.sessionId && (
          <Fact name={w.session}>
            <Link to="/sessions/$id" params={{ id: r.sessionId }}>
              <AgentText text={r.sessionId} short />
            </Link>
          </Fact>
        )}
        <Fact name={w.owner}>
          <bdi>{name(r.ownerId)}</bdi>
        </Fact>
        <Fact name={w.key}>
          <KeyChip id={r.keyId} />
        </Fact>
        <Fact name={w.asked}>
          <Time at={r.createdAt} form="absolute" />
        </Fact>
        <Fact name={w.expires}>
          <Time at={r.expiresAt} form="absolute" />
        </Fact>
        <Fact name={w.id}>
          <IdChip id={r.delegationId} />
        </Fact>
        {r.votes.length > 0 && (
          <Fact name={w.yeses(r.votes.length, r.needed)}>
            {r.votes.map((v) => (
              <bdi key={v.userId}>{name(v.userId)} </bdi>
            ))}
          </Fact>
        )}
      </dl>
    </section>
  );
}

// What decides beside policies has no page, and says its rules in words.
function Rule({ request: r }: { request: Shown }) {
  return (
    <>
      {r.rule && ((r.policyId && ruleName(r.policyId, r.rule)) || <AgentText text={r.rule} short />)}
      {r.policyName && r.policyId && (
        <>
          {" "}
          {w.ruleOf}{" "}
          {deciders.names[r.policyId] ?? (
            <Link to="/policies/$id" params={{ id: r.policyId }}>
              <AgentText text={r.policyName} short />
            </Link>
          )}
        </>
      )}
    </>
  );
}
