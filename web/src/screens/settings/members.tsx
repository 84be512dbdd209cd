import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api } from "../../api/client";
import { useMay, useMe, useOrg } from "../../app/org";
import { useList } from "../../app/useList";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Problem } from "../../ui/form";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { type Column, Table } from "../../ui/table/Table";
import { words } from "../../words/en";
import { ChangeRole, Invite, RemoveMember } from "./memberDialogs";
import { SettingsPage } from "./parts";
import { invitesQuery, type Member, membersQuery } from "./queries";

const w = words.settings;

type Doing = { member: Member; act: "role" | "remove" };

/** Members lists who belongs to the organization, and invites more. */
export function Members() {
  const org = useOrg();
  const me = useMe();
  const refused = useMay("members.manage");
  const [inviting, setInviting] = useState(false);
  const [doing, setDoing] = useState<Doing>();
  const { table, rows } = useList(membersQuery(org.id));
  const owners = rows.filter((m) => m.role === "owner").length;
  const whole = !table.hasMore && !table.cut;
  const columns = useMemo(
    () => columnsOf({ me: me.user.id, org, lastOwner: whole && owners === 1, onDo: setDoing }),
    [me.user.id, org, whole, owners],
  );
  return (
    <SettingsPage
      tab="members"
      fill
      acts={
        <Button look="primary" refused={refused} onClick={() => setInviting(true)}>
          {w.invite}
        </Button>
      }
    >
      {!refused && <Invites />}
      <Table
        {...table}
        label={w.tabs.members}
        columns={columns}
        rowKey={(m) => m.userId}
        card={(m) => <Card member={m} act={columns.at(-1)?.cell(m)} />}
        empty={<Empty title={w.noMembers} />}
      />
      <Invite open={inviting} onClose={() => setInviting(false)} />
      {doing?.act === "role" && <ChangeRole member={doing.member} onClose={() => setDoing(undefined)} />}
      {doing?.act === "remove" && (
        <RemoveMember
          member={doing.member}
          own={doing.member.userId === me.user.id}
          onClose={() => setDoing(undefined)}
        />
      )}
    </SettingsPage>
  );
}

interface Around {
  me: string;
  org: { role: string; rights: string[] };
  lastOwner: boolean;
  onDo: (doing: Doing) => void;
}

/** whyNot is why a member stays as they are; undefined: they can be changed. */
export function whyNot(member: Pick<Member, "role">, around: Pick<Around, "org" | "lastOwner">, own: boolean) {
  if (member.role === "owner" && around.lastOwner) return w.lastOwner;
  if (own) return undefined;
  if (member.role === "owner" && !around.org.rights.includes("owners.manage")) return w.ownersOnly;
  return undefined;
}

function columnsOf(around: Around): Column<Member>[] {
  const manages = around.org.rights.includes("members.manage");
  return [
    {
      id: "name",
      head: w.memberColumns.name,
      width: "minmax(140px, 1fr)",
      cell: (m) => (
        <span className="row">
          <AgentText text={m.name || "–"} line />
          {m.userId === around.me && <StatusBadge word={w.you} />}
        </span>
      ),
    },
    {
      id: "email",
      head: w.memberColumns.email,
      width: "minmax(200px, 1fr)",
      cell: (m) => <AgentText text={m.email} line />,
    },
    { id: "role", head: w.memberColumns.role, width: "104px", cell: (m) => w.roles[m.role]?.name ?? m.role },
    { id: "joined", head: w.memberColumns.joined, width: "96px", cell: (m) => <Time at={m.joinedAt} /> },
    {
      id: "act",
      head: w.memberColumns.act,
      width: "230px",
      cell: (m) => {
        const own = m.userId === around.me;
        const refused = whyNot(m, around, own);
        return (
          <span className="row end">
            {manages && (
              <Button look="quiet" refused={refused} onClick={() => around.onDo({ member: m, act: "role" })}>
                {w.changeRole}
              </Button>
            )}
            {(manages || own) && (
              <Button look="quiet" refused={refused} onClick={() => around.onDo({ member: m, act: "remove" })}>
                {own ? w.leave : w.remove}
              </Button>
            )}
          </span>
        );
      },
    },
  ];
}

function Card({ member: m, act }: { member: Member; act: React.ReactNode }) {
  return (
    <div className="stack tight">
      <div className="row">
        <span className="grow">
          <AgentText text={m.name || m.email} line />
        </span>
        <StatusBadge word={w.roles[m.role]?.name ?? m.role} />
      </div>
      <span className="small muted">
        <AgentText text={m.email} line />
      </span>
      {act}
    </div>
  );
}

function Invites() {
  const org = useOrg();
  const client = useQueryClient();
  const query = invitesQuery(org.id);
  const invites = useQuery(query);
  const withdraw = useMutation({
    mutationFn: (id: string) =>
      api.delete("/organization/{orgId}/invites/{id}", { params: { path: { orgId: org.id, id } } }),
    onSuccess: () => {
      toast(w.withdrawn);
      return client.invalidateQueries({ queryKey: query.queryKey });
    },
  });
  if (!invites.data?.items.length) return null;
  return (
    <section className="card stack tight">
      <h2>{w.invites}</h2>
      <ul className="setting-lines">
        {invites.data.items.map((i) => (
          <li key={i.id}>
            <span className="grow">
              <AgentText text={i.email} line />
            </span>
            <StatusBadge word={w.roles[i.role]?.name ?? i.role} />
            <span className="small faint">
              {w.inviteExpires} <Time at={i.expiresAt} form="absolute" />
            </span>
            <Button look="quiet" busy={withdraw.isPending} onClick={() => withdraw.mutate(i.id)}>
              {w.withdraw}
            </Button>
          </li>
        ))}
      </ul>
      <Problem error={withdraw.error} />
    </section>
  );
}
