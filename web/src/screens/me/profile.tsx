import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { useMe } from "../../app/org";
import { meQuery } from "../../app/queries";
import { remember } from "../../app/remember";
import { AgentText } from "../../ui/AgentText";
import { Button, Field } from "../../ui/Button";
import { Form, fieldOf, Problem } from "../../ui/form";
import { SkeletonLines } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { account as a } from "../../words/account";
import { words } from "../../words/en";
import { profileQuery } from "./queries";

const w = words.me;

/** Profile is who the person is, and what they say of themselves. */
export function Profile() {
  const { user, organizations } = useMe();
  const profile = useQuery(profileQuery);
  return (
    <section className="card stack">
      <div className="row">
        <span className="initials" aria-hidden>
          {profile.data?.initials ?? ""}
        </span>
        <h2>{w.profile}</h2>
      </div>
      <dl className="facts">
        <dt>{w.email}</dt>
        <dd>
          <AgentText text={user.email} />
        </dd>
        <dt>{w.since}</dt>
        <dd>
          <Time at={user.createdAt} form="absolute" />
        </dd>
        <dt>{w.organizations}</dt>
        <dd>
          <ul>
            {organizations.map((o) => (
              <li key={o.id}>
                <Link to="/" search={{ org: o.id }}>
                  <AgentText text={o.name} />
                </Link>{" "}
                <span className="faint">{w.as(words.settings.roles[o.role]?.name ?? o.role)}</span>
              </li>
            ))}
          </ul>
        </dd>
      </dl>
      {profile.data ? <Edit profile={profile.data} /> : <SkeletonLines lines={3} />}
    </section>
  );
}

function Edit({ profile }: { profile: Body<"ProfileBody"> }) {
  const client = useQueryClient();
  const [name, setName] = useState(profile.name);
  const [locale, setLocale] = useState(profile.locale);
  const [timeZone, setTimeZone] = useState(profile.timeZone);
  const save = useMutation({
    mutationFn: () => api.patch("/user/profile", { body: { name, locale, timeZone } }),
    onSuccess: async (changed) => {
      await remember(client, profileQuery, changed);
      toast(a.saved);
      await client.invalidateQueries({ queryKey: meQuery.queryKey, exact: true });
    },
  });
  const fields = ["name", "locale", "timeZone"];
  return (
    <Form onSubmit={() => save.mutate()}>
      <Field
        label={w.name}
        autoComplete="name"
        maxLength={100}
        value={name}
        wrong={fieldOf(save.error, "name")}
        onChange={(e) => setName(e.target.value)}
      />
      <div className="two">
        <Field
          label={a.locale}
          hint={a.localeHint}
          maxLength={20}
          value={locale}
          wrong={fieldOf(save.error, "locale")}
          onChange={(e) => setLocale(e.target.value)}
        />
        <Field
          label={a.timeZone}
          hint={a.timeZoneHint}
          maxLength={60}
          value={timeZone}
          wrong={fieldOf(save.error, "timeZone")}
          onChange={(e) => setTimeZone(e.target.value)}
        />
      </div>
      <Problem error={save.error} fields={fields} />
      <div className="row">
        <Button type="submit" busy={save.isPending}>
          {a.save}
        </Button>
      </div>
    </Form>
  );
}
