import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { ProofLink } from "../../ui/Badge";
import { clean } from "../../ui/clean";
import { kill as w } from "../../words/acts";
import { ActDialog, ReasonField, reasonMissing } from "../act/ActDialog";
import { linkTo } from "../link";
import { useOrg } from "../org";
import { findStop, type Stop, useSettled } from "./queries";

// A stop of a server, tool or plan ends nothing: it denies calls while it lasts.
const endsPlans = (scope: string) => scope === "agent" || scope === "organization" || scope === "key";

/** LiftDialog lets what is stopped act again: by the stop that was on screen, not by one that came since. */
export function LiftDialog({ stop: { scope, subject, index: seen }, onClose }: { stop: Stop; onClose: () => void }) {
  const org = useOrg();
  const onSettled = useSettled();
  const [reason, setReason] = useState("");
  return (
    <ActDialog<{ index?: number }>
      title={w.liftTitle(clean(subject, 60) || clean(org.name, 60))}
      doneTitle={w.liftedTitle(clean(subject, 60) || clean(org.name, 60))}
      act={w.liftAct}
      missing={reasonMissing(reason)}
      onClose={onClose}
      onSettled={onSettled}
      send={() =>
        api.post("/organization/{orgId}/kill-switch", {
          params: { path: { orgId: org.id } },
          body: { scope, reason: reason.trim(), lift: true, index: seen, ...(subject ? { subject } : {}) },
        })
      }
      look={async () => ((await findStop(org.id, { scope, subject })) ? undefined : {})}
      done={({ index }) =>
        index === undefined ? (
          <p>
            {w.notStopped} <Link {...linkTo("/audit", { action: "agent.revived" })}>{w.liftEntries}</Link>
          </p>
        ) : (
          <p className="kill-done">
            {w.lifted} <ProofLink index={index} />
          </p>
        )
      }
    >
      <p className="muted">
        {w.liftMeans} {endsPlans(scope) && w.liftLeavesEnded}
      </p>
      <ReasonField value={reason} onChange={setReason} />
    </ActDialog>
  );
}
