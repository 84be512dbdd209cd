import { useQuery } from "@tanstack/react-query";
import { Check, Minus } from "lucide-react";
import type { Body } from "../../api/client";
import { useOrg } from "../../app/org";
import { StatusBadge } from "../../ui/Badge";
import { words } from "../../words/en";
import { Loaded, SettingsPage } from "./parts";
import { rolesQuery } from "./queries";

const w = words.settings;

/** Roles says what each role may do, in sentences. */
export function Roles() {
  const org = useOrg();
  const roles = useQuery(rolesQuery(org.id));
  return (
    <SettingsPage tab="roles">
      <Loaded query={roles}>
        {({ items }) => (
          <>
            <ul className="card setting-lines">
              {items.map((r) => (
                <li key={r.role}>
                  <strong>{w.roles[r.role]?.name ?? r.role}</strong>
                  {r.role === org.role && <StatusBadge word={w.yourRole} />}
                  <span className="muted">{w.roles[r.role]?.says}</span>
                </li>
              ))}
            </ul>
            <RightsTable roles={items} />
          </>
        )}
      </Loaded>
    </SettingsPage>
  );
}

function RightsTable({ roles }: { roles: Body<"RoleBody">[] }) {
  const rights = roles[0]?.rights ?? []; // the first role has all
  return (
    <div className="card role-scroll" tabIndex={0} role="region" aria-label={w.tabs.roles}>
      <table className="role-table">
        <thead>
          <tr>
            <th scope="col">{w.right}</th>
            {roles.map((r) => (
              <th key={r.role} scope="col">
                {w.roles[r.role]?.name ?? r.role}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rights.map((right) => (
            <tr key={right}>
              <th scope="row">{w.rights[right] ?? right}</th>
              {roles.map((r) => (
                <td key={r.role}>
                  <May may={r.rights.includes(right)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function May({ may }: { may: boolean }) {
  return (
    <>
      {may ? <Check size={16} aria-hidden /> : <Minus size={16} className="faint" aria-hidden />}
      <span className="hidden-text">{may ? w.may : w.mayNot}</span>
    </>
  );
}
