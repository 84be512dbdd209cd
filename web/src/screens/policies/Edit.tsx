import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useRef } from "react";
import { api } from "../../api/client";
import { useMay, useOrg } from "../../app/org";
import { Button } from "../../ui/Button";
import { Editor, type EditorRef } from "../../ui/editor/Editor";
import { Problem } from "../../ui/form";
import { LineDiff } from "../../ui/LineDiff";
import { ErrorPanel, SkeletonLines } from "../../ui/states";
import { toast } from "../../ui/Toast";
import { policies as w } from "../../words/policies";
import { Problems } from "./Problems";
import { Sentences } from "./parts";
import { asYaml, type Policy, schemaQuery, textQuery, useAgain } from "./queries";
import { useCheck } from "./useCheck";
import type { Draft } from "./useDraft";

interface EditProps {
  policy: Policy;
  draft: Draft;
}

const route = getRouteApi("/frame/policies/$id");

/** Edit is the text of a policy: written here, checked by the server, and stored as its next version. */
export function Edit({ policy: p, draft }: EditProps) {
  const org = useOrg();
  const mayDraft = useMay("policies.draft");
  const { line } = route.useSearch();
  const schema = useQuery(schemaQuery).data;
  const checked = useCheck(org.id, draft.text, mayDraft === undefined);
  const editor = useRef<EditorRef>(null);
  const locked = mayDraft !== undefined || p.face === "profile";
  if (draft.text === undefined)
    return draft.saved.error ? (
      <ErrorPanel error={draft.saved.error} retry={() => void draft.saved.refetch()} />
    ) : (
      <SkeletonLines lines={12} />
    );
  return (
    <div className="policy-sides">
      <div className="stack tight">
        <Editor
          ref={editor}
          text={draft.text}
          label={w.text}
          line={line}
          readOnly={locked}
          schema={schema}
          marks={checked.marks}
          onChange={draft.write}
        />
        {!locked && <p className="small faint">{w.keys}</p>}
        {!locked && <Save policy={p} draft={draft} wrong={checked.is === "wrong"} />}
      </div>
      <div className="stack">
        {mayDraft === undefined && (
          <Problems checked={checked} onGo={(mark) => editor.current?.goTo(mark.line, mark.column)} />
        )}
        <section className="card stack tight">
          <h2>{w.words}</h2>
          <p className="small muted">{w.wordsMean}</p>
          <Sentences all={checked.words.length > 0 ? checked.words : p.explanation} label={w.words} />
        </section>
      </div>
    </div>
  );
}

function Save({ policy: p, draft, wrong }: EditProps & { wrong: boolean }) {
  const again = useAgain();
  const mayDraft = useMay("policies.draft");
  const save = useMutation({
    mutationFn: (text: string) =>
      api.put("/policies/{policyId}", {
        params: { path: { policyId: p.id }, query: { policyVersion: draft.base } },
        ...asYaml(text),
      }),
    onSuccess: (stored) => {
      draft.rebase(undefined);
      toast(w.saved(stored.policyVersion));
    },
    onSettled: again,
  });
  // Somebody else wrote a version, perhaps this very page, whose answer was lost.
  if (draft.changed && p.policyVersion !== draft.base)
    return <Conflict policy={p} draft={draft} onDone={() => save.reset()} />;
  return (
    <div className="stack tight">
      <Problem error={save.error} />
      <div className="row wrap">
        <Button
          look="primary"
          busy={save.isPending}
          refused={mayDraft ?? (draft.changed ? (wrong ? w.wrongFirst : undefined) : w.same)}
          onClick={() => draft.text !== undefined && save.mutate(draft.text)}
        >
          {w.save}
        </Button>
        {draft.changed && <Button onClick={() => draft.rebase(undefined)}>{w.discard}</Button>}
        {draft.changed && <span className="small muted">{w.kept}</span>}
      </div>
    </div>
  );
}

/** Conflict shows both texts where two people wrote at once. Nothing is overwritten unread. */
function Conflict({ policy: p, draft, onDone }: EditProps & { onDone: () => void }) {
  const org = useOrg();
  const theirs = useQuery(textQuery(org.id, p.id, p.policyVersion));
  const end = (to: number | undefined) => {
    draft.rebase(to);
    onDone();
  };
  return (
    <section className="card stack tight" role="alert">
      <strong>{w.conflict(p.policyVersion)}</strong>
      <p className="small muted">{w.conflictHelp}</p>
      {theirs.data !== undefined && (
        <LineDiff before={theirs.data} after={draft.text ?? ""} label={w.conflict(p.policyVersion)} />
      )}
      <div className="row wrap">
        <Button onClick={() => end(undefined)}>{w.takeTheirs}</Button>
        <Button onClick={() => end(p.policyVersion)}>{w.keepMine}</Button>
      </div>
    </section>
  );
}
