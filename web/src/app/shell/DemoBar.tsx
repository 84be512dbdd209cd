import { Button } from "../../ui/Button";
import { explain } from "../../ui/states";
import { toast } from "../../ui/Toast";
import { words } from "../../words/en";
import { useCloseDemo } from "../demo";
import { useOrg } from "../org";
import "./demo.css";

const w = words.demo;

/** DemoBar says on every screen that what is shown is made up, and closes it. */
export function DemoBar() {
  return useOrg().demo ? <Bar /> : null;
}

function Bar() {
  const close = useCloseDemo();
  const run = () => close.mutate(undefined, { onError: (error) => toast(explain(error, true).help, { error: true }) });
  return (
    <aside className="demo-bar" aria-label={w.label}>
      <strong>{w.bar}</strong>
      <Button busy={close.isPending} onClick={run}>
        {w.close}
      </Button>
    </aside>
  );
}
