import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { useMay, useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { count, percent } from "../../ui/format";
import { Empty, explain } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { billing as w } from "../../words/billing";
import { Loaded, SettingsPage } from "./parts";
import { billingQuery, billingUsageQuery, invoicesQuery } from "./queries";

type Plan = Body<"PaidPlanBody">;
type Account = Body<"BillingPlanBody">;
type Quota = Body<"QuotaBody">;

const route = getRouteApi("/frame/settings/billing");
const pays = (account: Account) => ["active", "trialing", "past_due"].includes(account.status);

/** Billing is the organization's plan, how much of it is used, and its invoices. */
export function Billing() {
  const org = useOrg();
  const { checkout } = route.useSearch();
  const plan = useQuery({
    ...billingQuery(org.id),
    // The provider tells the server by itself, after it has sent the person back.
    refetchInterval: ({ state }) => (checkout === "done" && !(state.data && pays(state.data)) ? 3000 : false),
  });
  return (
    <SettingsPage tab="billing">
      <Loaded query={plan}>
        {(account) =>
          account === null ? (
            <Empty title={w.off}>{w.offHelp}</Empty>
          ) : (
            <>
              {checkout && (
                <p className="notice" role="status">
                  {checkout === "left" ? w.left : pays(account) ? w.paid : w.paying}
                </p>
              )}
              <Current account={account} />
              <Used />
              <Plans account={account} />
              <Invoices />
            </>
          )
        }
      </Loaded>
    </SettingsPage>
  );
}

/** usePage opens a page of the payment provider. */
function usePaymentPage() {
  const [busy, setBusy] = useState(false);
  const open = async (ask: () => Promise<{ url: string }>) => {
    setBusy(true);
    try {
      const { url } = await ask();
      if (!/^https?:\/\//.test(url)) throw new Error("no address to open");
      window.location.assign(url);
    } catch (error) {
      const { title, help } = explain(error);
      toast(`${title} ${help}`, { error: true });
      setBusy(false);
    }
  };
  return { busy, open };
}

function Current({ account }: { account: Account }) {
  const org = useOrg();
  const refused = useMay("organization.update");
  const { busy, open } = usePaymentPage();
  const portal = () => api.post("/billing/portal", { params: { query: { organizationId: org.id } } });
  return (
    <section className="card stack tight setting-form">
      <dl className="facts">
        <dt>{w.plan}</dt>
        <dd>
          <AgentText text={account.plan.name} /> {account.plan.isFree && <span className="muted">({w.free})</span>}
        </dd>
        {account.status && (
          <>
            <dt>{w.status}</dt>
            <dd>
              <StatusBadge word={w.statuses[account.status] ?? account.status} error={account.status === "past_due"} />
            </dd>
          </>
        )}
        {account.periodEnd && (
          <>
            <dt>{account.cancelAtEnd ? w.ends : w.renews}</dt>
            <dd>
              <Time at={account.periodEnd} form="absolute" />
            </dd>
          </>
        )}
      </dl>
      {account.hasPaid && (
        <div className="stack tight">
          <Button disabled={busy} refused={refused} onClick={() => void open(portal)}>
            {w.manage}
          </Button>
          <p className="small faint">{w.leaving}</p>
        </div>
      )}
    </section>
  );
}

const quotaOf = (n: number | null) => (n === null ? null : count(n));

function Used() {
  const org = useOrg();
  const used = useQuery(billingUsageQuery(org.id));
  return (
    <section className="card stack tight setting-form">
      <Loaded query={used}>
        {({ month, decisions, spans, seats }) => (
          <>
            <h2>{w.thisMonth(month.slice(0, 7))}</h2>
            <Bar name={w.decisions} of={decisions} over={w.decisionsOver} />
            <Bar name={w.spans} of={spans} over={w.spansOver} />
            <Bar name={w.seats} of={seats} over={w.seatsOver} />
          </>
        )}
      </Loaded>
    </section>
  );
}

function Bar({ name, of: { used, quota }, over }: { name: string; of: Quota; over: string }) {
  const isOver = quota !== null && used >= quota;
  return (
    <div className="stack tight">
      <div className="row">
        <span className="grow">{name}</span>
        <span className="muted">{w.of(count(used), quotaOf(quota))}</span>
      </div>
      {quota !== null && (
        <meter
          className="quota"
          min={0}
          max={quota}
          low={quota * 0.8}
          high={quota * 0.99}
          optimum={0}
          value={Math.min(used, quota)}
          aria-label={`${name}: ${percent(used, quota)}`}
        />
      )}
      {isOver && <p className="small wrong-text">{over}</p>}
    </div>
  );
}

function Plans({ account }: { account: Account }) {
  const org = useOrg();
  const refused = useMay("organization.update");
  const { busy, open } = usePaymentPage();
  const choose = (plan: Plan) => () =>
    api.post("/checkout/session", { params: { query: { organizationId: org.id } }, body: { plan: plan.id } });
  return (
    <section className="card stack tight setting-form">
      <h2>{w.plans}</h2>
      <ul className="setting-lines">
        {account.plans.map((plan) => (
          <li key={plan.id}>
            <div className="grow">
              <AgentText text={plan.name} />
              <p className="small muted">
                {w.quotas(quotaOf(plan.decisions), quotaOf(plan.spans), quotaOf(plan.seats))}
              </p>
            </div>
            {plan.id === account.plan.id ? (
              <StatusBadge word={w.current} />
            ) : (
              !plan.isFree &&
              !pays(account) && (
                <Button disabled={busy} refused={refused} onClick={() => void open(choose(plan))}>
                  {w.choose(plan.name)}
                </Button>
              )
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Invoices() {
  const org = useOrg();
  const allowed = org.rights.includes("organization.update");
  const invoices = useQuery({ ...invoicesQuery(org.id), enabled: allowed });
  if (!allowed) return null;
  return (
    <section className="card stack tight setting-form">
      <h2>{w.invoices}</h2>
      <Loaded query={invoices}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="muted">{w.noInvoices}</p>
          ) : (
            <ul className="setting-lines">
              {items.map((i) => (
                <li key={i.id}>
                  <div className="grow">
                    <AgentText text={i.number || i.id} />
                    <p className="small muted">
                      <Time at={i.createdAt} form="absolute" />
                    </p>
                  </div>
                  <span>{amount(i.dueCents, i.currency)}</span>
                  <StatusBadge word={i.status} error={i.status === "uncollectible"} />
                  {/^https:\/\//.test(i.url) && (
                    <a href={i.url} target="_blank" rel="noreferrer">
                      {w.open}
                    </a>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

/** amount is a sum in its currency, or plainly where the browser does not know it. */
export function amount(cents: number, currency: string): string {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency }).format(cents / 100);
  } catch {
    return `${(cents / 100).toFixed(2)} ${currency}`;
  }
}
