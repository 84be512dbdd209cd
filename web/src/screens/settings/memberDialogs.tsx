import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { useOrg } from "../../app/org";
import { meQuery } from "../../app/queries";
import { Button, Choice, Field } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { ConfirmDialog, Dialog } from "../../ui/Dialog";
import { Form, fieldOf, Problem } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { invitesQuery, type Member, membersQuery, type Role, roleNames, within } from "./queries";

const w = words.settings;

const nameOf = (m: Member) => clean(m.name || m.email, 60);

function RoleChoice({ role, onRole }: { role: Role; onRole: (role: Role) => void }) {
  const { rights } = useOrg();
  const given = roleNames.filter((r) => r !== "owner" || (rights as string[]).includes("owners.manage"));
  return (
    <>
      <Choice
        label={w.inviteRole}
        value={role}
        onChange={onRole}
        options={given.map((r) => [r, w.roles[r]?.name ?? r] as const)}
      />
      <p className="muted">{w.roles[role]?.says}</p>
    </>
  );
}

/** Invite sends somebody a link to become a member. */
export function Invite({ open, onClose }: { open: boolean; onClose: () => void }) {
  const org = useOrg();
  const client = useQueryClient();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("member");
  const invite = useMutation({
    mutationFn: () =>
      api.post("/organization/{orgId}/members/invite", { params: within(org.id), body: { email, role } }),
    onSuccess: (made) => {
      toast(w.invited(clean(made.email, 60)));
      setEmail("");
      onClose();
      return client.invalidateQueries({ queryKey: invitesQuery(org.id).queryKey });
    },
  });
  return (
    <Dialog open={open} onClose={onClose} title={w.inviteTitle}>
      <Form onSubmit={() => invite.mutate()}>
        <Field
          label={w.inviteEmail}
          type="email"
          required
          maxLength={254}
          value={email}
          wrong={fieldOf(invite.error, "email")}
          onChange={(e) => setEmail(e.target.value)}
        />
        <RoleChoice role={role} onRole={setRole} />
        <Problem error={invite.error} fields={["email"]} />
        <div className="row end">
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button type="submit" look="primary" busy={invite.isPending}>
            {w.invite}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** ChangeRole gives a member another role. */
export function ChangeRole({ member, onClose }: { member: Member; onClose: () => void }) {
  const org = useOrg();
  const client = useQueryClient();
  const [role, setRole] = useState<Role>(member.role);
  const change = useMutation({
    mutationFn: () =>
      api.patch("/organization/{orgId}/members/{userId}/role", {
        params: { path: { orgId: org.id, userId: member.userId } },
        body: { role },
      }),
    onSuccess: async () => {
      toast(w.roleChanged(nameOf(member), w.roles[role]?.name ?? role));
      onClose();
      await client.invalidateQueries({ queryKey: membersQuery(org.id).queryKey });
      await client.invalidateQueries({ queryKey: meQuery.queryKey });
    },
  });
  return (
    <Dialog open onClose={onClose} title={w.changeRoleOf(nameOf(member))}>
      <Form onSubmit={() => change.mutate()}>
        <RoleChoice role={role} onRole={setRole} />
        <Problem error={change.error} />
        <div className="row end">
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button type="submit" look="primary" busy={change.isPending}>
            {w.save}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** RemoveMember removes a member, or lets a person leave. */
export function RemoveMember({ member, own, onClose }: { member: Member; own: boolean; onClose: () => void }) {
  const org = useOrg();
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = async () => {
    const { keysLeft } = await api.delete("/organization/{orgId}/members/{userId}", {
      params: { path: { orgId: org.id, userId: member.userId } },
    });
    if (own) {
      await navigate({ to: "/", search: {} });
      await client.invalidateQueries({ queryKey: meQuery.queryKey });
      return;
    }
    if (keysLeft.length > 0)
      toast(w.keysLeft(keysLeft.length), {
        error: true,
        act: { label: w.showKeys, run: () => void navigate({ to: "/settings/keys" }) },
      });
    await client.invalidateQueries({ queryKey: membersQuery(org.id).queryKey });
  };
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={own ? w.leaveTitle : w.removeMember(nameOf(member))}
      act={own ? w.leave : w.remove}
      danger
      onConfirm={remove}
    >
      <p>{w.removeMemberHelp}</p>
    </ConfirmDialog>
  );
}
