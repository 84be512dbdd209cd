import { TriangleAlert } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { ApiError, statusOf } from "../api/errors";
import { words } from "../words/en";
import { Button } from "./Button";
import { CopyButton } from "./CopyButton";
import "./states.css";

/** Empty says what would be here, and the one thing to do. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children && <div className="muted">{children}</div>}
      {action && <div className="state-actions">{action}</div>}
    </div>
  );
}

/** useLate is true after a moment: what comes at once needs no skeleton. */
export function useLate(ms = 150): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return late;
}

/** Slow says that something takes longer than it should, in place of a shape that shimmers for ever. */
export function Slow() {
  return useLate(10_000) ? (
    <p className="small muted" role="status">
      {words.ui.slow}
    </p>
  ) : null;
}

/** Skeleton has the shape of what comes. */
export function Skeleton({ width = "100%", height = 16 }: { width?: number | string; height?: number }) {
  return <div className="skeleton" style={{ inlineSize: width, blockSize: height }} aria-hidden />;
}

/** SkeletonLines keeps the room of text that is loading. */
export function SkeletonLines({ lines = 3 }: { lines?: number }) {
  const late = useLate();
  return (
    <>
      <Slow />
      <div className="stack tight" role="status" aria-label={words.ui.loading} style={{ minBlockSize: lines * 24 }}>
        {late && Array.from({ length: lines }, (_, i) => <Skeleton key={i} width={`${90 - ((i * 17) % 40)}%`} />)}
      </div>
    </>
  );
}

/** explain is what a failure means and what to do, in a sentence. */
export function explain(error: unknown, writing = false): { title: string; help: string } {
  if (!(error instanceof ApiError))
    return { title: words.errors.broken, help: String((error as Error)?.message ?? error) };
  // A 503, but one that was refused before anything was done, and that stays.
  if (error.code === "mail_not_configured") return { title: words.errors.noMail, help: words.errors.noMailHelp };
  if (error.code === "identity_provider_unusable")
    return { title: words.errors.noProvider, help: words.errors.noProviderHelp };
  switch (error.status) {
    case 0:
      return { title: words.errors.away, help: writing ? words.errors.notKnown : words.errors.awayHelp };
    case 401:
      return { title: words.errors.signedOut, help: words.errors.signedOutHelp };
    case 403:
      return { title: words.errors.forbidden, help: error.message };
    case 404:
      return { title: words.errors.missing, help: words.errors.missingHelp };
    case 429:
      return { title: words.errors.tooMany, help: words.errors.waitFor(error.retryAfter) };
  }
  if (error.status >= 500) {
    return { title: words.errors.failed, help: writing ? words.errors.notKnown : words.errors.failedHelp };
  }
  return { title: words.errors.refused, help: error.message };
}

/** ErrorPanel says what failed, what to do, and which request it was. */
export function ErrorPanel({ error, retry, writing }: { error: unknown; retry?: () => void; writing?: boolean }) {
  const { title, help } = explain(error, writing);
  return (
    <div className="state" role="alert">
      <h2 className="row">
        <TriangleAlert size={18} aria-hidden />
        {title}
      </h2>
      <p className="muted">{help}</p>
      <RequestId error={error} />
      {retry && (
        <div className="state-actions">
          <Button onClick={retry}>{words.ui.tryAgain}</Button>
        </div>
      )}
    </div>
  );
}

/** ErrorBanner is an error above what was loaded before. */
export function ErrorBanner({ error, retry }: { error: unknown; retry?: () => void }) {
  const { title, help } = explain(error);
  return (
    <div className="error-banner" role="alert">
      <TriangleAlert size={16} aria-hidden />
      <span className="grow">
        {title} {help} {statusOf(error) === 0 && words.errors.fromBefore}
      </span>
      <RequestId error={error} />
      {retry && <Button onClick={retry}>{words.ui.tryAgain}</Button>}
    </div>
  );
}

function RequestId({ error }: { error: unknown }) {
  if (!(error instanceof ApiError) || !error.requestId) return null;
  return (
    <span className="small faint row">
      {words.errors.request} <code>{error.requestId.slice(0, 8)}</code>
      <CopyButton text={error.requestId} what={words.errors.request} />
    </span>
  );
}
