import { lazy, Suspense } from "react";
import { Dialog } from "../../ui/Dialog";
import { readStored } from "../../ui/stored";
import { words } from "../../words/en";
import { keysOffSetting } from "./keys";

const Palette = lazy(() => import("./Palette").then((m) => ({ default: m.Palette })));

/** Overlays are what keys open above any screen. */
export function Overlays({ open, onClose }: { open: "palette" | "keys" | undefined; onClose: () => void }) {
  return (
    <>
      <Dialog open={open === "keys"} onClose={onClose} title={words.shell.keys}>
        {readStored(keysOffSetting) === "yes" && <p className="muted">{words.shell.keysOff}</p>}
        <dl className="facts">
          {words.shell.keyHelp.map(([key, does]) => (
            <div key={key} style={{ display: "contents" }}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      </Dialog>
      <Dialog open={open === "palette"} onClose={onClose} title={words.shell.palette}>
        <Suspense>
          <Palette onClose={onClose} />
        </Suspense>
      </Dialog>
    </>
  );
}
