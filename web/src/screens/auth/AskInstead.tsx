import { Link } from "@tanstack/react-router";
import { askAccess as w } from "../../words/askAccess";
import { words } from "../../words/en";

/** AskInstead leads people to the request for access, where only invited people can register. */
export function AskInstead() {
  return (
    <p className="small">
      {words.auth.noAccount} <Link to="/request-access">{w.ask}</Link>
    </p>
  );
}
