import { useState } from "react";
import { Button } from "../../ui/Button";
import { ConfirmDialog } from "../../ui/Dialog";
import { words } from "../../words/en";
import { useCloseOrg } from "../demo";
import { useMay, useOrg } from "../org";
import "./demo.css";

const w = words.demo;

/** DemoBar says on every screen that what is shown is made up, and closes it. */
export function DemoBar() {
  return useOrg().demo ? <Bar /> : null;
}

function Bar() {
  const close = useCloseOrg(w.closed);
  const refused = useMay("organization.close");
  const [asks, setAsks] = useState(false);
  return (
    <aside className="demo-bar" aria-label={w.label}>
      <strong>{w.bar}</strong>
      <Button refused={refused} onClick={() => setAsks(true)}>
        {w.close}
      </Button>
      <ConfirmDialog open={asks} onClose={() => setAsks(false)} title={w.closeTitle} act={w.close} onConfirm={close}>
        <p>{w.closeHelp}</p>
      </ConfirmDialog>
    </aside>
  );
}
