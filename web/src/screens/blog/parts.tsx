import { type ReactNode, useEffect } from "react";
import { clean } from "../../ui/clean";
import { blog as w } from "../../words/blog";
import { words } from "../../words/en";
import "../../app/shell/shell.css";
import "./blog.css";

/** Reading is a page of the blog: for everybody, without the frame. */
export function Reading({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    const steps = title === w.title ? [w.title] : [clean(title), w.title];
    document.title = words.shell.title(steps, 0);
  }, [title]);
  return (
    <main className="reading stack">
      <div className="row wrap">
        <a className="row grow nav-brand" href="/ui/">
          <span className="nav-mark" aria-hidden>
            W
          </span>
          {words.shell.product}
        </a>
        <a href="/blog/feed.xml">{w.feed}</a>
      </div>
      {children}
    </main>
  );
}
