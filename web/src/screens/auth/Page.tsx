import type { ReactNode } from "react";
import { useEffect } from "react";
import { Toasts } from "../../ui/Toast";
import { words } from "../../words/en";
import "../../app/shell/shell.css";

/** Page is a page without the frame: for people who are not signed in. */
export function Page({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = words.shell.title([title], 0);
  }, [title]);
  return (
    <main className="alone">
      <div className="card stack">
        <p className="nav-brand">
          <span className="nav-mark" aria-hidden>
            W
          </span>
          {words.shell.product}
        </p>
        <h1>{title}</h1>
        {children}
      </div>
      <Toasts />
    </main>
  );
}
