import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMe } from "../../app/org";
import { keysOffSetting } from "../../app/shell/keys";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { Choice } from "../../ui/Button";
import { densities, setDensity, useDensity } from "../../ui/density";
import { Check } from "../../ui/form";
import { readStored, store } from "../../ui/stored";
import { Time } from "../../ui/Time";
import { setTheme, themes, useTheme } from "../../ui/theme";
import { words } from "../../words/en";
import { Identities } from "./identities";
import { ChangePassword } from "./password";
import { Sessions } from "./sessions";
import "./me.css";

const w = words.me;

/** Me is a person's own account: who they are, where they are signed in, and how pages look. */
export function Me() {
  usePage({ name: w.title });
  return (
    <div className="screen me">
      <h1>{w.title}</h1>
      <div className="me-columns">
        <div className="stack">
          <Profile />
          <Look />
          <ChangePassword />
        </div>
        <div className="stack">
          <Sessions />
          <Identities />
        </div>
      </div>
    </div>
  );
}

function Profile() {
  const { user, organizations } = useMe();
  return (
    <section className="card stack tight">
      <h2>{w.profile}</h2>
      <dl className="facts">
        <dt>{w.name}</dt>
        <dd>
          <AgentText text={user.name || w.noName} />
        </dd>
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
    </section>
  );
}

function Look() {
  const theme = useTheme();
  const density = useDensity();
  const [off, setOff] = useState(readStored(keysOffSetting) === "yes");
  return (
    <section className="card stack">
      <h2>{w.look}</h2>
      <div className="two">
        <Choice
          label={w.theme}
          value={theme}
          onChange={setTheme}
          options={themes.map((t) => [t, words.shell.themes[t]] as const)}
        />
        <Choice
          label={w.density}
          value={density}
          onChange={setDensity}
          options={densities.map((d) => [d, w.densities[d]] as const)}
        />
      </div>
      <Check
        label={w.keysOff}
        hint={w.keysOffHelp}
        checked={off}
        onChange={(next) => {
          store(keysOffSetting, next ? "yes" : undefined);
          setOff(next);
        }}
      />
    </section>
  );
}
