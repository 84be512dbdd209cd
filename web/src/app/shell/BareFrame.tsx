import { Link, Outlet } from "@tanstack/react-router";
import { Suspense } from "react";
import { getSession, leave } from "../../auth/session";
import { Button } from "../../ui/Button";
import { SkeletonLines } from "../../ui/states";
import { Toasts } from "../../ui/Toast";
import { words } from "../../words/en";
import { Offline } from "./Offline";
import { Prove } from "./Prove";
import { SignInAgain } from "./SignInAgain";

/** BareFrame is around the screens that need no organization, for who is in none. */
export function BareFrame() {
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {words.shell.skip}
      </a>
      <div className="shell-main">
        <header className="top-bar">
          <span className="grow small muted wide-only">{words.shell.notInAny}</span>
          <Link className="button" to="/">
            {words.shell.makeOrJoin}
          </Link>
          <Button look="quiet" onClick={leave}>
            {words.shell.signOut}
          </Button>
        </header>
        <Offline />
        <main id="content" className="content" tabIndex={-1}>
          <Suspense fallback={<SkeletonLines lines={6} />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <SignInAgain open={getSession().state === "out"} />
      <Prove />
      <Toasts />
    </div>
  );
}
