import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { useMay, useOrg } from "../../app/org";
import { Button, Field } from "../../ui/Button";
import { ConfirmDialog } from "../../ui/Dialog";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";

const w = words.audit;

/** Erase takes the payload of an entry away, after its number was typed. The proof stays. */
export function Erase({ index }: { index: number }) {
  const org = useOrg();
  const refused = useMay("payloads.erase");
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const erase = async () => {
    await api.post("/audit-log/entries/{index}/erase", {
      params: { path: { index: String(index) }, query: { organizationId: org.id } },
      body: { reason: reason.trim() },
    });
    toast(w.erased);
    await client.invalidateQueries({ queryKey: [org.id, "audit"] });
  };
  return (
    <>
      <Button refused={refused} onClick={() => setOpen(true)}>
        {w.erase}
      </Button>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        title={w.eraseTitle(index)}
        act={w.eraseAct}
        danger
        type={String(index)}
        onConfirm={erase}
      >
        <p>{w.eraseHelp}</p>
        <Field
          label={w.eraseReason}
          value={reason}
          required
          maxLength={500}
          onChange={(e) => setReason(e.target.value)}
          onInvalid={(e) => e.currentTarget.setCustomValidity(w.eraseReasonWrong)}
          onInput={(e) => e.currentTarget.setCustomValidity("")}
        />
      </ConfirmDialog>
    </>
  );
}
