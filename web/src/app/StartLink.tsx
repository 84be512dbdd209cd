import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useOrg } from "./org";

/** useMayStart reports whether the person can make a key, with which everything starts: a viewer cannot. */
export const useMayStart = () => (useOrg().rights as string[]).includes("keys.own");

/** StartLink leads to the first steps, for those who can take them. */
export function StartLink({ children }: { children: ReactNode }) {
  if (!useMayStart()) return null;
  return (
    <Link className="button primary" to="/start">
      {children}
    </Link>
  );
}
