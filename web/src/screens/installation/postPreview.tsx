import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client";
import { Article } from "../../ui/article/Article";
import { Button } from "../../ui/Button";
import { fieldOf, Problem } from "../../ui/form";
import { posts as w } from "../../words/blog";
import type { Post } from "./queries";

/** PostPreview is what readers get: as it was saved, or what the server makes of the text that was typed. */
export function PostPreview({ body, saved }: { body: string; saved?: Post }) {
  const [seen, setSeen] = useState<{ body: string; html: string }>();
  const look = useMutation({
    mutationFn: (text: string) => api.post("/admin/blog/preview", { body: { body: text } }),
    onSuccess: ({ html }, text) => setSeen({ body: text, html }),
  });
  const unsaved = body !== (saved?.body ?? "");
  const typed = unsaved ? seen : undefined;
  const html = typed?.html ?? saved?.html;
  const note = typed ? (typed.body === body ? w.previewNow : w.previewEarlier) : saved ? w.previewOld : w.previewNone;
  return (
    <section className="card stack tight">
      <div className="row">
        <h2 className="grow">{w.preview}</h2>
        {unsaved && body.trim() !== "" && (
          <Button busy={look.isPending} onClick={() => look.mutate(body)}>
            {w.showPreview}
          </Button>
        )}
      </div>
      {(unsaved || !saved) && <p className="small faint">{note}</p>}
      {fieldOf(look.error, "body") ? (
        <p className="wrong-text">{fieldOf(look.error, "body")}</p>
      ) : (
        <Problem error={look.error} fields={["body"]} />
      )}
      {html !== undefined && <Article html={html} />}
    </section>
  );
}
