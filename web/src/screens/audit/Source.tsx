import { useOrg } from "../../app/org";
import { Button } from "../../ui/Button";
import { CopyButton } from "../../ui/CopyButton";
import { words } from "../../words/en";
import { saveAs } from "./download";

const w = words.proof;

/** Source says what a proof in this page cannot prove, and how to check without it. */
export function Source({ signed }: { signed: string | undefined }) {
  const org = useOrg();
  const command = `writ audit verify ${location.origin} --organization ${org.id} --checkpoint seen.txt`;
  return (
    <div className="stack tight">
      <p className="small muted">{w.source}</p>
      <div className="command">
        <code>{command}</code>
        <CopyButton text={command} />
      </div>
      {signed && (
        <div className="row">
          <Button onClick={() => saveAs(new Blob([signed], { type: "text/plain" }), "seen.txt")}>
            {w.saveCheckpoint}
          </Button>
        </div>
      )}
    </div>
  );
}
