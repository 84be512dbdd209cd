// Browsers come back from an identity provider with a code in the fragment.
import { toast } from "../ui/Toast";
import { words } from "../words/en";
import { exchangeCode } from "./session";

export type Arrival = "none" | "in" | "linked" | "failed";

// The code leaves the address before the router reads it: it works only once, and a change of the address later would
// begin the page's loading anew, without it.
let fragment = new URLSearchParams(location.hash.slice(1));
if (fragment.has("code") || fragment.has("linked"))
  history.replaceState(history.state, "", location.pathname + location.search);

/** isArriving reports whether this page ends a sign-in that began elsewhere. */
export const isArriving = () => fragment.has("code");

/** arrive ends a sign-in that began elsewhere. */
export async function arrive(): Promise<Arrival> {
  const code = fragment.get("code");
  const linked = fragment.get("linked");
  fragment = new URLSearchParams();
  if (!code && !linked) return "none";
  if (!code) {
    toast(words.auth.linked);
    return "linked";
  }
  try {
    await exchangeCode(code);
    return "in";
  } catch {
    return "failed";
  }
}
