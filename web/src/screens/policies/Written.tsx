import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { api } from "../../api/client";
import { useMay, useOrg } from "../../app/org";
import { Button } from "../../ui/Button";
import { Editor, type EditorRef } from "../../ui/editor/Editor";
import { Problem } from "../../ui/form";
import { Loaded } from "../../ui/Loaded";
import { useKept } from "../../ui/useKept";
import { drafts as w } from "../../words/drafts";
import { policies } from "../../words/policies";
import { Problems } from "./Problems";
import { asYaml, inOrg, schemaQuery, templateQuery, useAgain } from "./queries";
import { useCheck } from "./useCheck";
import { keyOfNew } from "./useDraft";

/** Written is a new policy as a text, perhaps one of the templates to begin with. */
export function Written({ template }: { template: string | undefined }) {
  const found = useQuery({ ...templateQuery(template ?? ""), enabled: template !== undefined });
  if (template === undefined) return <Text name="" begin={w.starter} />;
  return <Loaded query={found}>{(text) => <Text name={template} begin={text} />}</Loaded>;
}

function Text({ name, begin }: { name: string; begin: string }) {
  const org = useOrg();
  const again = useAgain();
  const navigate = useNavigate();
  const mayDraft = useMay("policies.draft");
  const [text, setText] = useKept(keyOfNew(org.id, `text.${name}`), begin);
  const schema = useQuery(schemaQuery).data;
  const checked = useCheck(org.id, text, mayDraft === undefined);
  const editor = useRef<EditorRef>(null);
  const create = useMutation({
    mutationFn: () => api.post("/policies", { params: inOrg(org.id), ...asYaml(text) }),
    onSuccess: (made) => {
      setText(undefined);
      void navigate({ to: "/policies/$id", params: { id: made.id }, search: {} });
    },
    onSettled: again,
  });
  return (
    <div className="policy-sides">
      <div className="stack tight">
        <Editor
          ref={editor}
          text={text}
          label={policies.text}
          onChange={setText}
          schema={schema}
          marks={checked.marks}
        />
        <p className="small faint">{policies.keys}</p>
        <Problem error={create.error} />
        <div className="row">
          <Button
            look="primary"
            busy={create.isPending}
            refused={mayDraft ?? (checked.is === "wrong" ? policies.wrongFirst : undefined)}
            onClick={() => create.mutate()}
          >
            {w.create}
          </Button>
        </div>
      </div>
      <Problems checked={checked} onGo={(mark) => editor.current?.goTo(mark.line, mark.column)} />
    </div>
  );
}
