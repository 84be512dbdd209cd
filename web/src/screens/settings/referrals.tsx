import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { statusOf } from "../../api/errors";
import { useMay, useOrg } from "../../app/org";
import { remember } from "../../app/remember";
import { Button, Field } from "../../ui/Button";
import { CopyButton } from "../../ui/CopyButton";
import { clean } from "../../ui/clean";
import { Dialog } from "../../ui/Dialog";
import { Form, Problem } from "../../ui/form";
import { count, money } from "../../ui/format";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { referrals as w } from "../../words/referrals";
import { Loaded, SettingsPage } from "./parts";
import { referralCodeQuery, referralsQuery } from "./queries";
import { codeOf, linkOf } from "./referralLink";

const route = getRouteApi("/frame/settings/referrals");

type Stats = Body<"ReferralStatsBody">;

/** Referrals has the organization's code, what it brought, and whose code the organization claimed. */
export function Referrals() {
  const org = useOrg();
  const stats = useQuery(referralsQuery(org.id));
  return (
    <SettingsPage tab="referrals">
      <Loaded query={stats}>
        {(found) =>
          found === null ? (
            <Empty title={w.off}>{w.offHelp}</Empty>
          ) : (
            <>
              <Earned stats={found} />
              <OwnCode />
              <Claim stats={found} key={org.id} />
            </>
          )
        }
      </Loaded>
    </SettingsPage>
  );
}

function Earned({ stats }: { stats: Stats }) {
  return (
    <section className="card stack tight setting-form">
      <h2>{w.earned}</h2>
      <dl className="facts">
        <dt>{w.referred}</dt>
        <dd>{count(stats.referred)}</dd>
        <dt>{w.credit}</dt>
        <dd>{money(stats.creditCents / 100)}</dd>
      </dl>
      <p className="small faint">{w.creditHelp}</p>
    </section>
  );
}

function OwnCode() {
  const org = useOrg();
  const client = useQueryClient();
  const refused = useMay("organization.update");
  const code = useQuery(referralCodeQuery(org.id));
  const make = useMutation({
    mutationFn: () => api.post("/referral/code", { params: { query: { organizationId: org.id } } }),
    onSuccess: (made) => remember(client, referralCodeQuery(org.id), made),
  });
  return (
    <section className="card stack tight setting-form">
      <h2>{w.own}</h2>
      <p className="muted">{w.ownHelp}</p>
      <Loaded query={code}>
        {(own) =>
          own === null ? (
            <>
              <p>{w.none}</p>
              <Problem error={make.error} />
              <div className="row">
                <Button look="primary" busy={make.isPending} refused={refused} onClick={() => make.mutate()}>
                  {w.make}
                </Button>
              </div>
            </>
          ) : (
            <>
              <dl className="facts">
                <dt>{w.code}</dt>
                <dd className="row">
                  <code>{own.code}</code> <CopyButton text={own.code} what={w.copyCode} />
                </dd>
                <dt>{w.link}</dt>
                <dd className="row">
                  <code>{linkOf(location.origin, own.code)}</code>{" "}
                  <CopyButton text={linkOf(location.origin, own.code)} what={w.copyLink} />
                </dd>
              </dl>
              <p className="small faint">{w.linkHelp}</p>
            </>
          )
        }
      </Loaded>
    </section>
  );
}

function Claim({ stats }: { stats: Stats }) {
  const refused = useMay("organization.update");
  const { code: given = "" } = route.useSearch();
  const [code, setCode] = useState(codeOf(given));
  const [asking, setAsking] = useState(false);
  if (stats.claimedAt)
    return (
      <section className="card stack tight setting-form">
        <h2>{w.claim}</h2>
        <p>
          {w.claimedAt}: <Time at={stats.claimedAt} form="absolute" />.
        </p>
      </section>
    );
  return (
    <section className="card stack tight setting-form">
      <h2>{w.claim}</h2>
      <p className="muted">{w.claimHelp}</p>
      <Form onSubmit={() => refused === undefined && setAsking(true)}>
        <Field
          label={w.claimCode}
          autoComplete="off"
          spellCheck={false}
          required
          maxLength={50}
          value={code}
          onChange={(e) => setCode(e.target.value)}
        />
        <div className="row">
          <Button type="submit" refused={refused}>
            {w.claimAct}
          </Button>
        </div>
      </Form>
      {asking && <ConfirmClaim code={codeOf(code)} onClose={() => setAsking(false)} />}
    </section>
  );
}

/** ConfirmClaim claims a code: once, for good. */
function ConfirmClaim({ code, onClose }: { code: string; onClose: () => void }) {
  const org = useOrg();
  const client = useQueryClient();
  const claim = useMutation({
    mutationFn: () => api.post("/referral/claim", { params: { query: { organizationId: org.id } }, body: { code } }),
    onSuccess: () => {
      toast(w.claimed);
      onClose();
    },
    onSettled: () => client.invalidateQueries({ queryKey: referralsQuery(org.id).queryKey, exact: true }),
  });
  return (
    <Dialog open onClose={onClose} title={w.claimTitle}>
      <Form onSubmit={() => claim.mutate()}>
        <p>{w.claimOnce(clean(org.name, 60), clean(code, 50))}</p>
        {statusOf(claim.error) === 404 ? (
          <p role="alert" className="wrong-text">
            {w.noSuchCode}
          </p>
        ) : (
          <Problem error={claim.error} />
        )}
        <div className="row end">
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button type="submit" look="primary" busy={claim.isPending}>
            {w.claimConfirm}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
