import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, type Body } from "../../api/client";
import { useMay, useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button, Field } from "../../ui/Button";
import { Area, Form, fieldOf, Problem } from "../../ui/form";
import { useKept } from "../../ui/useKept";
import { drafts as w } from "../../words/drafts";
import { policies } from "../../words/policies";
import { Sentences } from "./parts";
import { inOrg, useAgain } from "./queries";
import { keepTests, keyOfNew } from "./useDraft";

type Drafted = Body<"DraftedBody">;

/** FromWords drafts a policy from a description. */
export function FromWords() {
  const org = useOrg();
  const again = useAgain();
  const mayDraft = useMay("policies.draft");
  const [description, setDescription] = useKept(keyOfNew(org.id, "words"));
  const [name, setName] = useKept(keyOfNew(org.id, "name"));
  const draft = useMutation({
    mutationFn: () =>
      api.post("/policies/draft", {
        params: inOrg(org.id),
        body: { description, ...(name.trim() ? { name: name.trim() } : {}) },
      }),
    // Its tests stand beside it from the beginning.
    onSuccess: (made) => {
      keepTests(made.id, made.tests);
      setDescription(undefined);
      setName(undefined);
    },
    onSettled: again,
  });
  if (draft.data) return <Made drafted={draft.data} />;
  const short = description.trim().length < 3;
  return (
    <section className="card">
      <Form onSubmit={() => !mayDraft && !short && draft.mutate()}>
        <Area
          label={w.description}
          hint={w.descriptionHint}
          wrong={fieldOf(draft.error, "description")}
          rows={4}
          maxLength={2000}
          required
          value={description}
          onChange={(e) => setDescription(e.target.value)}
        />
        <Field
          label={w.name}
          hint={w.nameHint}
          wrong={fieldOf(draft.error, "name")}
          maxLength={100}
          value={name}
          onChange={(e) => setName(e.target.value)}
        />
        <Problem error={draft.error} fields={["description", "name"]} />
        <div className="row">
          <Button
            type="submit"
            look="primary"
            busy={draft.isPending}
            refused={mayDraft ?? (short ? w.description : undefined)}
          >
            {w.draftIt}
          </Button>
        </div>
      </Form>
    </section>
  );
}

function Made({ drafted: d }: { drafted: Drafted }) {
  return (
    <section className="card stack">
      <div className="row wrap">
        <h2 className="grow">
          <AgentText text={d.name} short />
        </h2>
        <Link className="button primary" to="/policies/$id" params={{ id: d.id }}>
          {w.openDraft}
        </Link>
      </div>
      <p role="status">{w.drafted}</p>
      <Sentences all={d.explanation} label={policies.words} />
      <h3>{w.testResults}</h3>
      <ul className="lines" aria-label={w.testResults}>
        {d.testResults.map((t) => (
          <li key={t.name}>
            <StatusBadge word={t.passed ? policies.passes : policies.fails} error={!t.passed} />
            <span className="grow">
              <AgentText text={t.name} short />
            </span>
          </li>
        ))}
      </ul>
      {d.findings.length > 0 && (
        <ul className="lines" aria-label={policies.tabs.findings}>
          {d.findings.map((f, i) => (
            <li key={i}>
              <StatusBadge word={policies.kindsOf[f.kind] ?? f.kind} error />
              <span className="grow">
                <AgentText text={f.message} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
