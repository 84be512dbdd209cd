import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { useMe } from "../../app/org";
import { Button, Choice } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { ConfirmDialog, Dialog } from "../../ui/Dialog";
import { Area, Form, fieldOf, Problem } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { access as w } from "../../words/installation";
import { type AccessRequest, accessKey } from "./queries";
import { invitable, rolesIn } from "./roles";

interface DialogProps {
  request: AccessRequest;
  onClose: () => void;
}

const addressOf = (request: AccessRequest) => clean(request.email, 60);

/** useAgain reads the lists again. After a failure too: a colleague may have answered. */
function useAgain() {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: accessKey });
}

/** ApproveAccess lets somebody in: with a link to register, or as a member of an organization. */
export function ApproveAccess({ request, onClose }: DialogProps) {
  const { organizations } = useMe();
  const again = useAgain();
  const [to, setTo] = useState("");
  const [role, setRole] = useState<Body<"MemberBody">["role"]>("member");
  const organization = organizations.find((o) => o.id === to);
  const approve = useMutation({
    mutationFn: () =>
      api.post("/access-requests/{id}/approve", {
        params: { path: { id: request.id } },
        body: organization ? { organizationId: organization.id, role } : {},
      }),
    onSuccess: () => {
      toast(organization ? w.invited(addressOf(request)) : w.linkSent(addressOf(request)));
      onClose();
    },
    onSettled: again,
  });
  return (
    <Dialog open onClose={onClose} title={w.approveTitle(addressOf(request))}>
      <Form onSubmit={() => approve.mutate()}>
        <p>{w.approveHelp}</p>
        <Choice
          label={w.gets}
          value={to}
          onChange={(id) => {
            setTo(id);
            setRole("member");
          }}
          options={[
            ["", w.link],
            ...invitable(organizations).map((o) => [o.id, w.invitation(clean(o.name, 60))] as const),
          ]}
        />
        {organization ? (
          <>
            <Choice
              label={w.role}
              value={role}
              onChange={setRole}
              options={rolesIn(organization).map((r) => [r, words.settings.roles[r]?.name ?? r] as const)}
            />
            <p className="muted">{words.settings.roles[role]?.says}</p>
          </>
        ) : (
          <p className="muted">{w.linkHelp}</p>
        )}
        <Problem error={approve.error} />
        <div className="row end">
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button type="submit" look="primary" busy={approve.isPending}>
            {w.approveAct}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** RejectAccess refuses a request, with a reason that the person reads. */
export function RejectAccess({ request, onClose }: DialogProps) {
  const again = useAgain();
  const [reason, setReason] = useState("");
  const reject = useMutation({
    mutationFn: () =>
      api.post("/access-requests/{id}/reject", { params: { path: { id: request.id } }, body: { reason } }),
    onSuccess: () => {
      toast(w.rejected(addressOf(request)));
      onClose();
    },
    onSettled: again,
  });
  return (
    <Dialog open onClose={onClose} title={w.rejectTitle(addressOf(request))}>
      <Form onSubmit={() => reject.mutate()}>
        <Area
          label={w.rejectReason}
          hint={w.rejectHint}
          rows={4}
          required
          maxLength={500}
          value={reason}
          wrong={fieldOf(reject.error, "reason")}
          onChange={(e) => setReason(e.target.value)}
        />
        <Problem error={reject.error} fields={["reason"]} />
        <div className="row end">
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button type="submit" look="danger" busy={reject.isPending}>
            {w.rejectAct}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** SendAgain mails another link to register in place of one that was lost or expired. */
export function SendAgain({ request, onClose }: DialogProps) {
  const again = useAgain();
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={w.againTitle(addressOf(request))}
      act={w.againAct}
      onConfirm={async () => {
        await api.post("/access-requests/{id}/approve", { params: { path: { id: request.id } }, body: {} });
        toast(w.linkSent(addressOf(request)));
        await again();
      }}
    >
      <p>{w.againHelp}</p>
    </ConfirmDialog>
  );
}
