import { Tabs } from "radix-ui";
import { CopyButton } from "../../ui/CopyButton";
import { words } from "../../words/en";
import { commandOf, type Language, sendsTraces } from "./commands";

const w = words.start;
const languages = Object.entries(w.tabs) as [Language, string][];

interface CommandProps {
  secret: string | undefined;
  language: Language;
  onLanguage: (language: Language) => void;
  onCopy: () => void;
}

/** Command is what to paste into a terminal, in the language one has at hand. */
export function Command({ secret, language, onLanguage, onCopy }: CommandProps) {
  const command = commandOf(language, location.origin, secret ?? "ak_…");
  return (
    <section className="card stack tight">
      <h2>2 {w.step2}</h2>
      <Tabs.Root className="stack tight" value={language} onValueChange={(id) => onLanguage(id as Language)}>
        <Tabs.List className="row wrap" aria-label={w.step2}>
          {languages.map(([id, name]) => (
            <Tabs.Trigger key={id} className="tab" value={id}>
              {name}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {languages.map(([id]) => (
          <Tabs.Content key={id} value={id}>
            <pre className="command" tabIndex={0}>
              {command}
            </pre>
          </Tabs.Content>
        ))}
      </Tabs.Root>
      <div className="row wrap">
        {secret ? (
          <CopyButton text={command} label={w.copyCommand} onCopied={onCopy} />
        ) : (
          <span className="small muted">{w.needKey}</span>
        )}
        <span className="small faint">{sendsTraces.has(language) ? w.sendsTraces : w.asksDecision}</span>
      </div>
    </section>
  );
}
