import type { ReactNode } from "react";
import { Button, Field } from "../../ui/Button";
import { Area, Form, fieldOf, Problem } from "../../ui/form";
import { posts as w } from "../../words/blog";
import { type Content, retitled } from "./draft";

interface PostFormProps {
  content: Content;
  /** Whether links lead to it: its address stays. */
  published?: boolean;
  onChange: (content: Content) => void;
  onSave: () => void;
  act: string;
  busy: boolean;
  error: unknown;
  /** What must be settled before it can be saved, in place of the error. */
  conflict?: ReactNode;
}

/** PostForm is what an operator writes: title, address, summary and Markdown. */
export function PostForm({ content, published, onChange, onSave, act, busy, error, conflict }: PostFormProps) {
  const set = (name: keyof Content) => (e: { target: { value: string } }) =>
    onChange({ ...content, [name]: e.target.value });
  return (
    <section className="card">
      <Form onSubmit={onSave}>
        <Field
          label={w.postTitle}
          required
          maxLength={200}
          value={content.title}
          wrong={fieldOf(error, "title")}
          onChange={(e) => {
            const title = e.target.value;
            onChange(published ? { ...content, title } : retitled(content, title));
          }}
        />
        <Field
          label={w.slug}
          hint={published ? w.slugFixed : w.slugHint}
          required
          spellCheck={false}
          maxLength={100}
          readOnly={published ?? false}
          value={content.slug}
          wrong={fieldOf(error, "slug")}
          onChange={set("slug")}
        />
        <Field
          label={w.summary}
          hint={w.summaryHint}
          maxLength={500}
          value={content.summary}
          wrong={fieldOf(error, "summary")}
          onChange={set("summary")}
        />
        <Area
          label={w.body}
          hint={w.bodyHint}
          required
          rows={16}
          mono
          value={content.body}
          wrong={fieldOf(error, "body")}
          onChange={set("body")}
        />
        {conflict || <Problem error={error} fields={["title", "slug", "summary", "body"]} />}
        <div className="row">
          <Button type="submit" look="primary" busy={busy}>
            {act}
          </Button>
        </div>
      </Form>
    </section>
  );
}
