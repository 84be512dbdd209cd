import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client";
import { remember } from "../../app/remember";
import { StatusBadge } from "../../ui/Badge";
import { Button } from "../../ui/Button";
import { ConfirmDialog } from "../../ui/Dialog";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/Toast";
import { posts as w } from "../../words/blog";
import { keepMine } from "./draft";
import { type Post, postQuery, postsQuery } from "./queries";

type Act = "publish" | "withdraw" | "delete";

/** PostActs shows a post to everybody, takes it back, or deletes it. They are about what was saved. */
export function PostActs({ post, changed }: { post: Post; changed: boolean }) {
  // What was on screen when the dialog was opened is what is published: a colleague may save another revision meanwhile.
  const [asked, setAsked] = useState<{ act: Act; seen: Post }>();
  const refused = changed ? w.saveFirst : undefined;
  const open = (act: Act) => setAsked({ act, seen: post });
  const close = () => setAsked(undefined);
  return (
    <div className="row wrap">
      <StatusBadge word={post.publishedAt ? w.published : w.draft} />
      <span className="grow small faint">
        {w.updated} <Time at={post.updatedAt} />
      </span>
      {post.publishedAt && (
        <a className="button" href={`/ui/blog/${encodeURIComponent(post.slug)}`}>
          {w.openPost}
        </a>
      )}
      <Button onClick={() => open("delete")}>{w.delete}</Button>
      <Button refused={refused} onClick={() => open(post.publishedAt ? "withdraw" : "publish")}>
        {post.publishedAt ? w.withdraw : w.publish}
      </Button>
      {asked?.act === "delete" && <DeletePost post={asked.seen} onClose={close} />}
      {asked?.act === "publish" && <ShowPost post={asked.seen} to="publish" onClose={close} />}
      {asked?.act === "withdraw" && <ShowPost post={asked.seen} to="withdraw" onClose={close} />}
    </div>
  );
}

interface ShowProps {
  post: Post;
  to: "publish" | "withdraw";
  onClose: () => void;
}

function ShowPost({ post, to, onClose }: ShowProps) {
  const client = useQueryClient();
  const sent = { params: { path: { id: post.id } }, body: { revision: post.revision } };
  const show = async () => {
    const shown =
      to === "publish"
        ? await api.post("/admin/blog/posts/{id}/publish", sent)
        : await api.post("/admin/blog/posts/{id}/withdraw", sent);
    await remember(client, postQuery(post.id), shown);
    toast(to === "publish" ? w.isPublished : w.isWithdrawn);
    await client.invalidateQueries({ queryKey: postsQuery.queryKey });
    await client.invalidateQueries({ queryKey: ["blog"] });
  };
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={to === "publish" ? w.publishTitle : w.withdrawTitle}
      act={to === "publish" ? w.publishAct : w.withdrawAct}
      onConfirm={() =>
        show().catch(async (error) => {
          // Somebody may have changed it: what is shown must be what there is.
          await client.invalidateQueries({ queryKey: postQuery(post.id).queryKey });
          throw error;
        })
      }
    >
      <p>{to === "publish" ? w.publishHelp : w.withdrawHelp}</p>
    </ConfirmDialog>
  );
}

function DeletePost({ post, onClose }: { post: Post; onClose: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = async () => {
    await api.delete("/admin/blog/posts/{id}", { params: { path: { id: post.id } } });
    keepMine(post.id, undefined);
    toast(w.isDeleted);
    await navigate({ to: "/installation/blog" });
    client.removeQueries({ queryKey: postQuery(post.id).queryKey });
    await client.invalidateQueries({ queryKey: postsQuery.queryKey });
    await client.invalidateQueries({ queryKey: ["blog"] });
  };
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={w.deleteTitle}
      act={w.deleteAct}
      danger
      type={post.slug}
      onConfirm={remove}
    >
      <p>{w.deleteHelp}</p>
    </ConfirmDialog>
  );
}
