import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { statusOf } from "../../api/errors";
import { ActDialog } from "../../app/act/ActDialog";
import { useMay } from "../../app/org";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { typable } from "../../ui/typable";
import { policies as w } from "../../words/policies";
import { Activate } from "./Activate";
import { at, type Policy, readPolicy, useAgain } from "./queries";

type Doing = "activate" | "deactivate" | "delete";

/** Acts are what one can do with a policy as a whole. */
export function Acts({ policy: p, changed }: { policy: Policy; changed: boolean }) {
  const mayManage = useMay("policies.manage");
  // What was on screen when the dialog was opened is what is activated.
  const [doing, setDoing] = useState<{ act: Doing; seen: Policy }>();
  const close = () => setDoing(undefined);
  const open = (act: Doing) => () => setDoing({ act, seen: p });
  const why =
    mayManage ??
    (p.face === "profile"
      ? w.confirmInstead
      : p.activeVersion === p.policyVersion
        ? w.isActive
        : changed
          ? w.saveFirst
          : undefined);
  return (
    <>
      {p.activeVersion !== null ? (
        <Button refused={mayManage} onClick={open("deactivate")}>
          {w.deactivate}
        </Button>
      ) : (
        <Button refused={mayManage} onClick={open("delete")}>
          {w.remove}
        </Button>
      )}
      <Button look="primary" refused={why} onClick={open("activate")}>
        {w.activate(p.policyVersion)}
      </Button>
      {doing?.act === "activate" && <Activate policy={doing.seen} onClose={close} />}
      {doing?.act === "deactivate" && <Deactivate policy={doing.seen} onClose={close} />}
      {doing?.act === "delete" && <Delete policy={doing.seen} onClose={close} />}
    </>
  );
}

function Deactivate({ policy: p, onClose }: { policy: Policy; onClose: () => void }) {
  const again = useAgain();
  return (
    <ActDialog<{ activeVersion: number | null }>
      title={w.deactivateTitle(clean(p.name))}
      act={w.deactivateAct}
      danger
      type={typable(p.name) ? p.name : w.word}
      onClose={onClose}
      onSettled={again}
      send={() =>
        api.post("/policies/{policyId}/deactivate", { params: at(p.id), body: { ifActive: p.activeVersion ?? 0 } })
      }
      look={async () => {
        const now = await readPolicy(p.id);
        return now.activeVersion === null ? now : undefined;
      }}
      done={() => <p>{w.deactivated}</p>}
    >
      <p className="muted">{w.deactivateMeans}</p>
    </ActDialog>
  );
}

function Delete({ policy: p, onClose }: { policy: Policy; onClose: () => void }) {
  const again = useAgain();
  const navigate = useNavigate();
  const [gone, setGone] = useState(false);
  const close = () => {
    onClose();
    if (gone) void again();
    if (gone) void navigate({ to: "/policies", search: {} as never });
  };
  const done = () => {
    setGone(true);
    return {};
  };
  return (
    <ActDialog<object>
      title={w.removeTitle(clean(p.name))}
      act={w.removeAct}
      danger
      type={typable(p.name) ? p.name : w.word}
      onClose={close}
      // Read again only if it is still there: its page would take the answer away.
      onSettled={() => undefined}
      send={async () => {
        await api.delete("/policies/{policyId}", { params: at(p.id) }).catch((error: unknown) => {
          void again();
          throw error;
        });
        return done();
      }}
      look={() =>
        readPolicy(p.id).then(
          () => undefined,
          (error: unknown) => {
            if (statusOf(error) === 404) return done();
            throw error;
          },
        )
      }
      done={() => <p>{w.removed}</p>}
    >
      <p className="muted">{w.removeMeans}</p>
    </ActDialog>
  );
}
