import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { useMay, useOrg } from "../../app/org";
import { AgentText, ToolName } from "../../ui/AgentText";
import { Button, Choice, Field } from "../../ui/Button";
import { Form, fieldOf, Problem } from "../../ui/form";
import { count } from "../../ui/format";
import { Time } from "../../ui/Time";
import { drafts as w } from "../../words/drafts";
import { policies } from "../../words/policies";
import { Sentences } from "./parts";
import { inOrg, useAgain } from "./queries";

type Suggested = Body<"SuggestedBody">;
const choices = ["1", "7", "14", "30", "90"] as const;

/** FromAgent suggests the narrowest policy that would have let an agent's allowed calls run. */
export function FromAgent({ agent }: { agent: string }) {
  const org = useOrg();
  const again = useAgain();
  const mayDraft = useMay("policies.draft");
  const [agentId, setAgent] = useState(agent);
  const [name, setName] = useState("");
  const [days, setDays] = useState<(typeof choices)[number]>("14");
  const suggest = useMutation({
    mutationFn: () =>
      api.post("/policies/suggest", {
        params: inOrg(org.id),
        body: { agentId, days: Number(days), ...(name.trim() ? { name: name.trim() } : {}) },
      }),
    onSettled: again,
  });
  if (suggest.data) return <Made suggested={suggest.data} />;
  return (
    <section className="card stack">
      <p className="small muted">{w.suggestMean}</p>
      <Form onSubmit={() => !mayDraft && agentId && suggest.mutate()}>
        <Field
          label={w.whichAgent}
          wrong={fieldOf(suggest.error, "agentId")}
          required
          maxLength={200}
          value={agentId}
          onChange={(e) => setAgent(e.target.value)}
        />
        <Choice
          label={w.whichDays}
          value={days}
          onChange={setDays}
          options={choices.map((n) => [n, policies.daysOf(Number(n))] as const)}
        />
        <Field
          label={w.name}
          hint={w.nameHint}
          maxLength={100}
          value={name}
          onChange={(e) => setName(e.target.value)}
        />
        <Problem error={suggest.error} fields={["agentId"]} />
        <div className="row">
          <Button type="submit" look="primary" busy={suggest.isPending} refused={mayDraft}>
            {w.suggestIt}
          </Button>
        </div>
      </Form>
    </section>
  );
}

function Made({ suggested: s }: { suggested: Suggested }) {
  return (
    <section className="card stack">
      <div className="row wrap">
        <h2 className="grow">
          <AgentText text={s.name} short />
        </h2>
        <Link className="button primary" to="/policies/$id" params={{ id: s.id }}>
          {w.openDraft}
        </Link>
      </div>
      <p role="status">{w.suggested(s.rules.length, count(s.calls))}</p>
      {s.incomplete && <p className="small muted">{w.cutCalls}</p>}
      <Sentences all={s.explanation} label={policies.words} />
      <h3>{w.evidence}</h3>
      <ul className="lines" aria-label={w.evidence}>
        {s.evidence.map((e) => (
          <li key={e.rule}>
            <strong className="grow">
              <AgentText text={e.rule} short />
            </strong>
            <span>{w.seenTimes(count(e.calls))}</span>
            <span className="small muted">
              <Time at={e.first} form="absolute" /> – <Time at={e.last} form="absolute" />
            </span>
          </li>
        ))}
      </ul>
      {s.leftOut.length > 0 && (
        <>
          <h3>{w.leftOutCalls}</h3>
          <ul className="lines" aria-label={w.leftOutCalls}>
            {s.leftOut.map((l, i) => (
              <li key={i}>
                <span className="grow">
                  <ToolName server={l.server} tool={l.tool} />
                </span>
                <span>{w.seenTimes(count(l.calls))}</span>
                <span className="small muted">
                  <AgentText text={l.reason} />
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
