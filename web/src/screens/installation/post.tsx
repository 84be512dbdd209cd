import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { statusOf } from "../../api/errors";
import { useMe } from "../../app/org";
import { remember } from "../../app/remember";
import { Button } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { Loaded } from "../../ui/Loaded";
import { Empty } from "../../ui/states";
import { toast } from "../../ui/Toast";
import { posts as w } from "../../words/blog";
import { type Content, contentOf, differs, keepMine, nothing, readMine } from "./draft";
import { InstallationPage } from "./parts";
import { PostActs } from "./postActs";
import { PostForm } from "./postForm";
import { PostPreview } from "./postPreview";
import { type Post, postQuery, postsQuery } from "./queries";

const route = getRouteApi("/frame/installation/blog/$id");

/** NewPost writes a draft. */
export function NewPost() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [content, setContent] = useState(() => readMine("new")?.content ?? nothing);
  const write = (next: Content) => {
    setContent(next);
    keepMine("new", { base: 0, content: next });
  };
  const create = useMutation({
    mutationFn: () => api.post("/admin/blog/posts", { body: content }),
    onSuccess: async (made) => {
      keepMine("new", undefined);
      toast(w.saved);
      client.setQueryData(postQuery(made.id).queryKey, made);
      void client.invalidateQueries({ queryKey: postsQuery.queryKey });
      await navigate({ to: "/installation/blog/$id", params: { id: made.id } });
    },
  });
  return (
    <InstallationPage tab="blog" thing={w.newTitle}>
      <div className="columns">
        <PostForm
          content={content}
          onChange={write}
          onSave={() => create.mutate()}
          act={w.saveDraft}
          busy={create.isPending}
          error={create.error}
        />
        <PostPreview body={content.body} />
      </div>
    </InstallationPage>
  );
}

/** EditPost changes a post, and publishes, withdraws or deletes it. */
export function EditPost() {
  const { id } = route.useParams();
  const { operator } = useMe();
  const post = useQuery({ ...postQuery(id), enabled: operator });
  return (
    <InstallationPage tab="blog" thing={clean(post.data?.title ?? w.post)}>
      <Loaded query={post}>
        {(latest) =>
          latest === null ? (
            <Empty title={w.missing} action={<Link to="/installation/blog">{w.all}</Link>} />
          ) : (
            <Edit key={latest.id} latest={latest} />
          )
        }
      </Loaded>
    </InstallationPage>
  );
}

function Edit({ latest }: { latest: Post }) {
  const client = useQueryClient();
  const [mine, setMine] = useState(() => readMine(latest.id));
  const content = mine?.content ?? contentOf(latest);
  const changed = mine !== undefined && differs(mine.content, contentOf(latest));
  // What was changed is put on top of the revision that was read, never on one that nobody has seen.
  const base = changed ? mine.base : latest.revision;
  const set = (next: Content | undefined, on = base) => {
    const kept = next && differs(next, contentOf(latest)) ? { base: on, content: next } : undefined;
    keepMine(latest.id, kept);
    setMine(kept);
  };
  const save = useMutation({
    mutationFn: () =>
      api.put("/admin/blog/posts/{id}", {
        params: { path: { id: latest.id } },
        body: { ...content, revision: base },
      }),
    onSuccess: async (saved) => {
      keepMine(latest.id, undefined);
      setMine(undefined);
      toast(w.saved);
      await remember(client, postQuery(latest.id), saved);
      await client.invalidateQueries({ queryKey: postsQuery.queryKey });
    },
    onError: (error) => {
      if (statusOf(error) === 409) void client.invalidateQueries({ queryKey: postQuery(latest.id).queryKey });
    },
  });
  const settle = (text: Content | undefined) => {
    save.reset();
    set(text, latest.revision);
  };
  return (
    <>
      <PostActs post={latest} changed={changed} />
      <div className="columns">
        <PostForm
          content={content}
          published={latest.publishedAt !== null}
          onChange={(next) => set(next)}
          onSave={() => save.mutate()}
          act={w.save}
          busy={save.isPending}
          error={save.error}
          conflict={
            changed &&
            base !== latest.revision && <Meanwhile onTheirs={() => settle(undefined)} onMine={() => settle(content)} />
          }
        />
        <PostPreview body={content.body} saved={latest} />
      </div>
    </>
  );
}

/** Meanwhile says that a colleague saved first: their text is beside this one, and nothing is overwritten unread. */
function Meanwhile({ onTheirs, onMine }: { onTheirs: () => void; onMine: () => void }) {
  return (
    <div className="notice" role="alert">
      <span>{w.meanwhile}</span>
      <Button onClick={onTheirs}>{w.takeTheirs}</Button>
      <Button onClick={onMine}>{w.keepMine}</Button>
    </div>
  );
}
