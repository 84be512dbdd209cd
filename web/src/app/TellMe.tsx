import { useState } from "react";
import { Check } from "../ui/form";
import { words } from "../words/en";
import { setTelling, telling } from "./shell/announce";

const w = words.shell;

/** TellMe turns notifications of this browser on and off. */
export function TellMe() {
  const [now, setNow] = useState(telling);
  const refused = now === "refused" ? w.tellRefused : now === "unable" ? w.tellUnable : undefined;
  return (
    <Check
      label={w.tell}
      hint={w.tellHelp}
      checked={now === "on"}
      refused={refused}
      onChange={(on) => void setTelling(on).then(setNow)}
    />
  );
}
