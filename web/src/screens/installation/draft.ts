// A post as somebody writes it, until it is saved. It is kept in this tab: a reload or a lost session takes nothing.
import { getSession } from "../../auth/session";
import { readStored, store } from "../../ui/stored";
import type { Post } from "./queries";

export interface Content {
  slug: string;
  title: string;
  summary: string;
  body: string;
}

/** Mine is what was not saved, and the revision it was made from; 0: of a post that does not exist yet. */
export interface Mine {
  base: number;
  content: Content;
}

export const nothing: Content = { slug: "", title: "", summary: "", body: "" };

export const contentOf = ({ slug, title, summary, body }: Post): Content => ({ slug, title, summary, body });

export const differs = (a: Content, b: Content) => (Object.keys(a) as (keyof Content)[]).some((k) => a[k] !== b[k]);

/** slugOf is the address that a title suggests. */
export const slugOf = (title: string) =>
  title
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 80)
    .replace(/^-+|-+$/g, "");

/** retitled gives another title, and the address that goes with it unless somebody chose one. */
export const retitled = (content: Content, title: string): Content => ({
  ...content,
  title,
  slug: content.slug === slugOf(content.title) ? slugOf(title) : content.slug,
});

// What one person wrote is not shown to the next one in the same browser.
const keyOf = (id: string) => {
  const session = getSession();
  return `writ.post.${session.state === "unknown" ? "" : (session.user ?? "")}.${id}`;
};

export function readMine(id: string): Mine | undefined {
  try {
    const kept = JSON.parse(readStored(keyOf(id), true) ?? "null") as Mine | null;
    const whole = kept && Object.keys(nothing).every((k) => typeof kept.content?.[k as keyof Content] === "string");
    return whole && typeof kept.base === "number" ? kept : undefined;
  } catch {
    return undefined;
  }
}

export const keepMine = (id: string, mine: Mine | undefined) => store(keyOf(id), mine && JSON.stringify(mine), true);
