import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { type Json, parseJson, writeExact } from "../../api/exact";
import { useMay, useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge, VerdictBadge } from "../../ui/Badge";
import { Button, Field } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { Area, Form, Problem } from "../../ui/form";
import { toast } from "../../ui/Toast";
import { policies as w } from "../../words/policies";
import { inOrg } from "./queries";
import { testOf } from "./says";

type Access = Body<"AccessBody">;

interface Asked {
  server: string;
  tool: string;
  agent: string;
  args: string;
}

// What is written as arguments; undefined: it is no object.
function argumentsOf(text: string): Record<string, Json> | undefined {
  if (text.trim() === "") return {};
  try {
    const value = parseJson(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, Json>)
      : undefined;
  } catch {
    return undefined;
  }
}

const callOf = ({ server, tool, agent, args }: Asked) => ({
  tool,
  ...(server ? { server } : {}),
  ...(agent ? { agentId: agent } : {}),
  arguments: argumentsOf(args) as never,
});

/** Simulate asks what the text says about one call, and why. */
export function Simulate({ text, onAdd }: { text: string | undefined; onAdd: (test: string) => boolean }) {
  const org = useOrg();
  const mayDraft = useMay("policies.draft");
  const [asked, setAsked] = useState<Asked>({ server: "", tool: "", agent: "", args: "{}" });
  const set = (change: Partial<Asked>) => setAsked((old) => ({ ...old, ...change }));
  const bad = argumentsOf(asked.args) === undefined;
  const ask = useMutation({
    mutationFn: (sent: Asked & { yaml: string }) =>
      api.post("/policies/simulate", { params: inOrg(org.id), body: { yaml: sent.yaml, call: callOf(sent) } }),
  });
  const submit = () => !bad && !mayDraft && text !== undefined && ask.mutate({ ...asked, yaml: text });
  const add = (access: Access, sent: Asked) => {
    const call = {
      server: sent.server || "local",
      tool: sent.tool,
      arguments: argumentsOf(sent.args) ?? {},
      ...(sent.agent ? { agent: { id: sent.agent } } : {}),
    };
    const name = clean(`${call.server}.${call.tool}: ${access.decision}, ${writeExact(call.arguments, 0)}`, 120);
    toast(onAdd(testOf(name, call, access.decision, access.rule)) ? w.added : w.notAdded);
  };
  return (
    <section className="card stack" aria-label={w.simulate}>
      <h2>{w.simulate}</h2>
      <p className="small muted">{w.simulateMean}</p>
      <Form onSubmit={submit}>
        <Field
          label={w.server}
          hint={w.serverHint}
          value={asked.server}
          onChange={(e) => set({ server: e.target.value })}
        />
        <Field label={w.tool} required value={asked.tool} onChange={(e) => set({ tool: e.target.value })} />
        <Field label={w.agent} value={asked.agent} onChange={(e) => set({ agent: e.target.value })} />
        <Area
          label={w.arguments}
          rows={4}
          spellCheck={false}
          value={asked.args}
          wrong={bad ? w.notJson : undefined}
          onChange={(e) => set({ args: e.target.value })}
        />
        <div className="row">
          <Button type="submit" busy={ask.isPending} refused={mayDraft ?? (bad ? w.notJson : undefined)}>
            {w.ask}
          </Button>
        </div>
      </Form>
      <Problem error={ask.error} />
      {ask.data && ask.variables && (
        <Said access={ask.data} onAdd={() => ask.data && ask.variables && add(ask.data, ask.variables)} />
      )}
    </section>
  );
}

function Said({ access: a, onAdd }: { access: Access; onAdd: () => void }) {
  return (
    <div className="stack tight" role="status">
      <p className="row wrap">
        <VerdictBadge verdict={a.decision} />
        <span className="grow">
          <AgentText text={a.reason} />
        </span>
        <Button onClick={onAdd}>{w.addTest}</Button>
      </p>
      {a.explanation.length > 0 && (
        <ul className="lines" aria-label={w.because}>
          {a.explanation.map((c) => (
            <li key={c.rule}>
              <VerdictBadge verdict={c.effect} />
              <strong>
                <AgentText text={c.rule} short />
              </strong>
              <StatusBadge word={c.decided ? w.decided : c.matched ? w.matched : w.notMatched} />
              <span className="grow small muted">
                {(c.steps ?? []).map((s, i) => (
                  <code key={i} className="policy-step">
                    <AgentText text={s.expression} short /> → <AgentText text={s.value ?? s.error ?? ""} short />
                  </code>
                ))}
                {c.error && <AgentText text={c.error} />}
              </span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
