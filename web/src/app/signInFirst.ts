// Who is not signed in signs in first.
import { redirect } from "@tanstack/react-router";
import { statusOf } from "../api/errors";
import { arrive } from "../auth/arrival";
import { safeNext, takeNext } from "../auth/next";
import { getSession, restore } from "../auth/session";
import { meQuery, queryClient } from "./queries";

let loadScreen: () => void = () => {};

/** onSigningIn says what is done while a session is restored. The router sets it: it knows the screens. */
export function onSigningIn(load: () => void): void {
  loadScreen = load;
}

/** signInFirst sends people who are not signed in to sign in, and back to where they were going. */
export async function signInFirst({ location }: { location: { href: string } }) {
  // The screen's own code comes while the session is restored.
  loadScreen();
  const arrival = await arrive();
  if (arrival === "failed") throw redirect({ to: "/sign-in", search: { problem: "code" }, replace: true });
  const next = takeNext();
  if (arrival !== "none" && next) throw redirect({ href: `/ui${safeNext(next)}`, replace: true });
  await restore();
  const signIn = () => {
    const wanted = location.href === "/" ? undefined : location.href;
    return redirect({ to: "/sign-in", search: wanted ? { next: wanted } : {}, replace: true });
  };
  if (getSession().state !== "in") throw signIn();
  try {
    await queryClient.ensureQueryData(meQuery);
  } catch (error) {
    // The session ended, and no page is there yet that could stay.
    if (statusOf(error) === 401) throw signIn();
    throw error;
  }
}
