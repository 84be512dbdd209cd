import { WifiOff } from "lucide-react";
import { useOnline } from "../../ui/useOnline";
import { words } from "../../words/en";
import "./offline.css";

/** Offline says that the browser has no network, above every screen. */
export function Offline() {
  if (useOnline()) return null;
  return (
    <div className="offline" role="status">
      <WifiOff size={16} aria-hidden />
      {words.shell.offline}
    </div>
  );
}
