import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { keysOffSetting } from "../../app/shell/keys";
import { usePage } from "../../app/shell/page";
import { Button, Choice } from "../../ui/Button";
import { densities, setDensity, useDensity } from "../../ui/density";
import { Check, Problem } from "../../ui/form";
import { readStored, store } from "../../ui/stored";
import { toast } from "../../ui/Toast";
import { setTheme, themes, useTheme } from "../../ui/theme";
import { account as a } from "../../words/account";
import { words } from "../../words/en";
import { ChangeAddress } from "./address";
import { Ending } from "./ending";
import { SecondFactor } from "./factor";
import { Identities } from "./identities";
import { ChangePassword } from "./password";
import { Profile } from "./profile";
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
          <ChangeAddress />
        </div>
        <div className="stack">
          <SecondFactor />
          <Sessions />
          <Identities />
          <Ending />
        </div>
      </div>
    </div>
  );
}

function Look() {
  const theme = useTheme();
  const density = useDensity();
  const keep = useMutation({
    mutationFn: () => api.put("/user/preferences", { body: { theme, density } }),
    onSuccess: () => toast(a.lookKept),
  });
  const use = useMutation({
    mutationFn: () => api.get("/user/preferences"),
    onSuccess: (kept) => {
      setTheme(kept.theme);
      setDensity(kept.density);
    },
  });
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
      <Problem error={keep.error ?? use.error} />
      <div className="row wrap">
        <Button busy={keep.isPending} onClick={() => keep.mutate()}>
          {a.keepLook}
        </Button>
        <Button busy={use.isPending} onClick={() => use.mutate()}>
          {a.useLook}
        </Button>
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
