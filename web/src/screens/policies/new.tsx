import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMay } from "../../app/org";
import { usePage } from "../../app/shell/page";
import { AgentText } from "../../ui/AgentText";
import { Loaded } from "../../ui/Loaded";
import { Tabs } from "../../ui/Tabs";
import { drafts as w } from "../../words/drafts";
import { policies } from "../../words/policies";
import { FromAgent } from "./FromAgent";
import { FromWords } from "./FromWords";
import { Sentences } from "./parts";
import { templatesQuery } from "./queries";
import { sentenceOf } from "./says";
import { Written } from "./Written";
import "./policies.css";

const route = getRouteApi("/frame/policies/new");

/** NewPolicy begins a policy: from words, from what an agent did, from a template, or from nothing. */
export function NewPolicy() {
  const { from = "words", agent, template } = route.useSearch();
  const mayDraft = useMay("policies.draft");
  usePage({ name: policies.title, to: "/policies" }, { name: w.newTitle });
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{w.newTitle}</h1>
      </div>
      {mayDraft && <p className="notice">{mayDraft}</p>}
      <p className="muted">{w.draftMean}</p>
      <Tabs label={w.fromLabel} tabs={Object.entries(w.from)} shown={from} name="from" />
      {from === "words" && <FromWords />}
      {from === "agent" && <FromAgent agent={agent ?? ""} />}
      {from === "template" && <Templates />}
      {from === "text" && <Written key={template} template={template} />}
    </div>
  );
}

function Templates() {
  const templates = useQuery(templatesQuery);
  return (
    <Loaded query={templates}>
      {(items) => (
        <ul className="stack" aria-label={w.from.template}>
          {items.map((t) => (
            <li key={t.name} className="card stack tight">
              <div className="row wrap">
                <h2 className="grow">{t.title}</h2>
                <Link
                  className="button"
                  to="."
                  search={(() => ({ from: "text", template: t.name })) as never}
                  aria-label={`${w.useTemplate}: ${t.title}`}
                >
                  {w.useTemplate}
                </Link>
              </div>
              <AgentText text={t.description} />
              <p className="small muted">{sentenceOf(t.document)}</p>
              <details>
                <summary>{policies.rules(String(t.document.rules.length))}</summary>
                <Sentences
                  all={t.document.rules.map((r) => `${r.id}: ${r.effect}, ${r.tools.join(", ")}`)}
                  label={t.title}
                />
              </details>
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  );
}
