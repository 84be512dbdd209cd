import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Body } from "../../api/client";
import { ApiError } from "../../api/errors";
import { useMay, useOrg } from "../../app/org";
import { AgentText } from "../../ui/AgentText";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { Editor, type Mark } from "../../ui/editor/Editor";
import { Problem } from "../../ui/form";
import { words } from "../../words/en";
import { policies as w } from "../../words/policies";
import { inOrg, type Policy } from "./queries";
import { Simulate } from "./Simulate";
import { hasNoTests, withTest } from "./says";
import { type Draft, keepTests, readTests } from "./useDraft";

type Results = Body<"TestsBody">;

const starter = "policy: policy.yaml\ntests: []\n";
const place = /^(\d+):(\d+): /;

/** Tests are calls with what must be decided about them, beside the text that is being written. */
export function Tests({ policy: p, draft }: { policy: Policy; draft: Draft }) {
  const org = useOrg();
  const mayDraft = useMay("policies.draft");
  const [tests, setTests] = useState(() => readTests(p.id) ?? starter);
  const [ran, setRan] = useState<{ tests: string; text: string }>();
  const write = (text: string) => {
    keepTests(p.id, text);
    setTests(text);
  };
  const run = useMutation({
    mutationFn: (sent: { tests: string; text: string }) =>
      api.post("/policies/test", { params: inOrg(org.id), body: { yaml: sent.text, tests: sent.tests } }),
    onMutate: setRan,
  });
  const add = (test: string) => {
    const next = withTest(tests, test);
    if (next !== undefined) write(next);
    return next !== undefined;
  };
  const none = hasNoTests(tests);
  const marks = marksOf(run.error);
  const stale = ran !== undefined && (ran.tests !== tests || ran.text !== draft.text);
  return (
    <div className="policy-sides">
      <div className="stack tight">
        <p className="small muted">{w.testsMean}</p>
        <Editor text={tests} label={w.testsText} onChange={write} marks={stale ? [] : marks} readOnly={!!mayDraft} />
        <div className="row wrap">
          <Button
            look="primary"
            busy={run.isPending}
            refused={mayDraft ?? (none ? w.noTests : undefined)}
            onClick={() => draft.text !== undefined && run.mutate({ tests, text: draft.text })}
          >
            {w.run}
          </Button>
          {(none || stale) && <span className="small muted">{none ? w.noTests : w.stale}</span>}
        </div>
        <Problem error={run.error} />
        {run.data && <Ran results={run.data} />}
      </div>
      <Simulate text={draft.text} onAdd={add} />
    </div>
  );
}

// The server says where in the tests something is wrong.
const marksOf = (error: unknown): Mark[] =>
  error instanceof ApiError
    ? error.details.flatMap(({ field, message }) => {
        const found = field === "tests" ? place.exec(message) : null;
        return found
          ? [
              {
                line: Number(found[1]),
                column: Number(found[2]),
                severity: "error" as const,
                message: message.slice(found[0].length),
              },
            ]
          : [];
      })
    : [];

function Ran({ results: r }: { results: Results }) {
  const failed = r.results.filter((t) => !t.passed).length;
  return (
    <section className="stack tight" aria-label={w.results}>
      <p role="status">
        <strong>{failed === 0 ? w.passed(r.results.length) : w.failed(failed, r.results.length)}</strong>
      </p>
      <ul className="lines">
        {r.results.map((t) => (
          <li key={t.name}>
            <StatusBadge word={t.passed ? w.passes : w.fails} error={!t.passed} />
            <span className="grow">
              <AgentText text={t.name} short />
              {!t.passed && (
                <span className="small muted">
                  {" "}
                  {w.wanted(verdict(t.want), verdict(t.decision))}, {w.byRule(t.rule)}:{" "}
                  {t.failures.map((why, i) => (
                    <AgentText key={i} text={why} />
                  ))}
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const verdict = (v: string) => (words.verdicts as Record<string, string>)[v] ?? v;
