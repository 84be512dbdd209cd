import type { LinkProps } from "@tanstack/react-router";

/** linkTo is a link to a list with filters, whichever screen shows it: spread it into Link, or give it to Tile. */
export function linkTo(to: string, search: Record<string, unknown> = {}): LinkProps {
  return { to, search } as unknown as LinkProps;
}
