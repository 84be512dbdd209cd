import { CircleCheck, OctagonX, TriangleAlert } from "lucide-react";
import { words } from "../words/en";

/** TraceStatus is how a trace, span or session ended. Denied has the colour of a denial, for it was one. */
export function TraceStatus({ status }: { status: string }) {
  const word = words.ui.statuses[status] ?? status;
  if (status === "denied") {
    return (
      <span className="badge deny">
        <OctagonX size={14} aria-hidden />
        {word}
      </span>
    );
  }
  if (status === "error") {
    return (
      <span className="badge error">
        <TriangleAlert size={14} aria-hidden />
        {word}
      </span>
    );
  }
  return (
    <span className="badge neutral">
      {status === "ok" && <CircleCheck size={14} aria-hidden />}
      {word}
    </span>
  );
}
