import { createElement, type ReactNode, useMemo } from "react";
import { words } from "../../words/en";
import { type Element, type Piece, readArticle, type Tag } from "./read";
import "./article.css";

// The title of the page is above an article: its own headings are below that.
const lower: Partial<Record<Tag, Tag>> = { h1: "h2", h2: "h3", h3: "h4", h4: "h5", h5: "h6" };

/** Article shows the HTML that the server makes of Markdown, element by element. */
export function Article({ html }: { html: string }) {
  const pieces = useMemo(() => readArticle(html), [html]);
  return <div className="article">{shown(pieces)}</div>;
}

const shown = (pieces: Piece[]): ReactNode =>
  pieces.map((piece, i) => (typeof piece === "string" ? piece : <Part key={i} part={piece} />));

function Part({ part }: { part: Element }) {
  const { tag, href, start, inside } = part;
  if (tag === "br" || tag === "hr") return createElement(tag);
  if (tag === "a")
    return href ? (
      <a href={href} rel="nofollow noreferrer">
        {shown(inside)}
      </a>
    ) : (
      shown(inside)
    );
  const element = createElement(lower[tag] ?? tag, start === undefined ? {} : { start }, shown(inside));
  if (tag !== "table") return element;
  // Wider than a phone: it scrolls by itself, also by keyboard.
  return (
    <div className="article-table" tabIndex={0} role="region" aria-label={words.ui.articleTable}>
      {element}
    </div>
  );
}
