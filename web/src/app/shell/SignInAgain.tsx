import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { SignInForm } from "../../auth/SignInForm";
import { leave, offerSignIn } from "../../auth/session";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { words } from "../../words/en";
import { useMe } from "../org";
import { optionsQuery } from "../queries";

// The address is known. A dialog below takes the focus away from what asks for it by itself.
function toPassword(event: Event) {
  event.preventDefault();
  (event.currentTarget as HTMLElement).querySelector<HTMLElement>("[type=password]")?.focus();
}

/** SignInAgain lets a person in above the page, so that nothing typed is lost. What was being sent waits for it. */
export function SignInAgain({ open }: { open: boolean }) {
  const { user } = useMe();
  useEffect(offerSignIn, []);
  const options = useQuery({ ...optionsQuery, enabled: open });
  return (
    <Dialog open={open} onClose={() => {}} title={words.auth.again} onOpenAutoFocus={toPassword}>
      <p className="muted">{words.auth.againHelp}</p>
      <SignInForm email={user.email} onDone={() => {}} />
      {/* Providers need a page of their own, and this one must stay: its tabs tell each other. */}
      <div className="row wrap">
        {options.data?.google && (
          <a className="button" href="/auth/google" target="_blank" rel="noopener">
            {words.auth.google}
          </a>
        )}
        <a
          className="button"
          href={`/auth/oidc?email=${encodeURIComponent(user.email)}`}
          target="_blank"
          rel="noopener"
        >
          {words.auth.provider}
        </a>
      </div>
      <p className="small muted">{words.auth.againElsewhere}</p>
      <div className="row end">
        <Button look="quiet" onClick={leave}>
          {words.auth.signOutInstead}
        </Button>
      </div>
    </Dialog>
  );
}
