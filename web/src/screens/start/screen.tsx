import { useBlocker } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { usePage } from "../../app/shell/page";
import { useLive } from "../../live/useLive";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { words } from "../../words/en";
import { Arrived } from "./Arrived";
import { Command } from "./Command";
import { type Language, sendsTraces } from "./commands";
import { type First, firstOf } from "./first";
import { type Key, MakeKey } from "./MakeKey";
import "./start.css";

const w = words.start;

/** Start leads from nothing to the first decision. */
export function Start() {
  usePage({ name: w.title });
  const [key, setKey] = useState<Key>();
  const [language, setLanguage] = useState<Language>("curl");
  const [first, setFirst] = useState<First>();
  useLive((events) => {
    const found = first?.kind === "decision" ? undefined : firstOf(events);
    if (found && (!first || found.kind === "decision")) setFirst(found);
  });
  const copied = () => setKey((k) => k && { ...k, copied: true });
  return (
    <div className="screen start">
      <div className="screen-head">
        <h1 className="grow">{w.title}</h1>
        {!first && key && <Waiting traces={sendsTraces.has(language)} />}
      </div>
      <MakeKey made={key} onKey={(secret) => setKey({ secret, copied: false })} onCopy={copied} />
      <Command secret={key?.secret} language={language} onLanguage={setLanguage} onCopy={copied} />
      <section className="card stack tight">
        <h2>3 {w.step3}</h2>
        <div role="status">
          {first ? <Arrived first={first} /> : <p className="muted">{key ? w.listening : w.later}</p>}
        </div>
      </section>
      <Leaving lost={key !== undefined && !key.copied && !first} />
    </div>
  );
}

/** Leaving asks before the only copy of a key is lost. */
function Leaving({ lost }: { lost: boolean }) {
  const blocked = useBlocker({ shouldBlockFn: () => lost, enableBeforeUnload: lost, withResolver: true });
  const waits = blocked.status === "blocked";
  return (
    <Dialog open={waits} onClose={() => blocked.reset?.()} title={w.notCopied}>
      <p className="muted">{w.notCopiedHelp}</p>
      <div className="row end">
        <Button onClick={() => blocked.proceed?.()}>{w.leave}</Button>
        <Button look="primary" onClick={() => blocked.reset?.()}>
          {w.stay}
        </Button>
      </div>
    </Dialog>
  );
}

function Waiting({ traces }: { traces: boolean }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((s) => s + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return (
    <span className="small muted">
      {w.waiting(time)} {seconds >= 60 && (traces ? w.noTraceYet : w.nothingYet)}
    </span>
  );
}
