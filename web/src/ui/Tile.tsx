import { Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ErrorBanner, Skeleton } from "./states";
import "./tile.css";

interface TileProps {
  label: ReactNode;
  value: ReactNode;
  note?: ReactNode;
  /** The list that the number counts. */
  link?: LinkProps;
  loading?: boolean;
  error?: unknown;
  retry?: () => void;
}

/** Tile is one number, which opens the list that it counts. */
export function Tile({ label, value, note, link, loading, error, retry }: TileProps) {
  if (error) return <ErrorBanner error={error} {...(retry ? { retry } : {})} />;
  const body = (
    <>
      <span className="small muted tile-label">{label}</span>
      <span className="tile-value">{loading ? <Skeleton width={96} height={28} /> : value}</span>
      <span className="small faint tile-note">{loading ? "" : note}</span>
    </>
  );
  return link ? (
    <Link className="tile" {...link}>
      {body}
    </Link>
  ) : (
    <div className="tile">{body}</div>
  );
}

export function Tiles({ children }: { children: ReactNode }) {
  return <div className="tiles">{children}</div>;
}
