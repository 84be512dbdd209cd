import { useMutation } from "@tanstack/react-query";
import { api } from "../../api/client";
import { useMay, useOrg } from "../../app/org";
import { Button } from "../../ui/Button";
import { CopyButton } from "../../ui/CopyButton";
import { explain } from "../../ui/states";
import { words } from "../../words/en";

const w = words.start;

export interface Key {
  secret: string;
  copied: boolean;
}

interface MakeKeyProps {
  made: Key | undefined;
  onKey: (secret: string) => void;
  onCopy: () => void;
}

/** MakeKey makes the key of the first agent, and shows it once. */
export function MakeKey({ made, onKey, onCopy }: MakeKeyProps) {
  const org = useOrg();
  const refused = useMay("keys.own");
  const make = useMutation({
    mutationFn: () => api.post("/api-keys", { body: { name: w.keyName, organizationId: org.id } }),
    onSuccess: (issued) => onKey(issued.apiKey),
  });
  return (
    <section className="card stack tight">
      <h2>1 {w.step1}</h2>
      {made ? (
        <div className="row wrap">
          <code>{made.secret}</code>
          <CopyButton text={made.secret} label={w.copyKey} onCopied={onCopy} />
          <span className="small muted">{made.copied ? w.copied : w.shownOnce}</span>
        </div>
      ) : (
        <div className="row">
          <Button look="primary" busy={make.isPending} refused={refused} onClick={() => make.mutate()}>
            {w.makeKey}
          </Button>
          {make.error && (
            <span role="alert" className="wrong-text">
              {explain(make.error, true).help}
            </span>
          )}
        </div>
      )}
    </section>
  );
}
