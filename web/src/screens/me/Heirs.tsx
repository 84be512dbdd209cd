import { useQuery } from "@tanstack/react-query";
import { type Organization, useMe } from "../../app/org";
import { Choice } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { Loaded } from "../../ui/Loaded";
import { SkeletonLines } from "../../ui/states";
import { account as w } from "../../words/account";
import { mayInherit } from "./heir";
import { membersQuery } from "./queries";

interface HeirsProps {
  /** Who gets the keys, by organization; empty: nobody. */
  chosen: Record<string, string>;
  onChoose: (chosen: Record<string, string>) => void;
}

/** Heirs asks who gets the keys and agents of somebody who leaves, organization by organization. */
export function Heirs({ chosen, onChoose }: HeirsProps) {
  const { organizations } = useMe();
  const withKeys = organizations.filter((o) => (o.rights as string[]).includes("keys.own"));
  if (withKeys.length === 0) return null;
  return (
    <div className="stack tight">
      <h3>{w.heirs}</h3>
      <p className="muted">{w.heirsHelp}</p>
      {withKeys.map((o) => (
        <Heir
          key={o.id}
          organization={o}
          heir={chosen[o.id] ?? ""}
          onHeir={(heir) => onChoose({ ...chosen, [o.id]: heir })}
        />
      ))}
    </div>
  );
}

interface HeirProps {
  organization: Organization;
  heir: string;
  onHeir: (heir: string) => void;
}

function Heir({ organization, heir, onHeir }: HeirProps) {
  const { user } = useMe();
  const members = useQuery(membersQuery(organization.id));
  const name = clean(organization.name, 60);
  return (
    <Loaded query={members} skeleton={<SkeletonLines lines={2} />}>
      {({ items }) => {
        const offered = mayInherit(items, user.id);
        if (offered.length === 0) return <p className="small muted">{w.heirAlone(name)}</p>;
        return (
          <Choice
            label={w.heirIn(name)}
            value={heir}
            onChange={onHeir}
            options={[
              ["", w.heirNobody],
              ...offered.map((m) => [m.userId, clean(m.name ? `${m.email} · ${m.name}` : m.email, 80)] as const),
            ]}
          />
        );
      }}
    </Loaded>
  );
}
