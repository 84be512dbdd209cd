import { useEffect, useState } from "react";
import { api, type Body } from "../../api/client";
import { ApiError } from "../../api/errors";
import type { Mark } from "../../ui/editor/Editor";
import { asYaml, inOrg } from "./queries";
import { markOf } from "./says";

export interface Checked {
  is: "checking" | "valid" | "wrong" | "failed";
  marks: readonly Mark[];
  /** What the text says, as of its last valid form. */
  words: readonly string[];
}

const pause = 400;
const empty: readonly Mark[] = [];

type Valid = Body<"ValidBody">;

const marksOf = (found: Valid): Mark[] => [
  ...found.warnings.map((p) => ({
    line: p.line ?? 1,
    column: p.column ?? 1,
    severity: "warning" as const,
    message: p.message,
  })),
  ...found.findings.map((f) => ({
    line: f.line ?? 1,
    column: f.column ?? 1,
    severity: "info" as const,
    message: f.message,
    fix: f.fix,
  })),
];

/** useCheck has the server check a text a moment after it was written. */
export function useCheck(org: string, text: string | undefined, may: boolean): Checked {
  const [checked, setChecked] = useState<Checked>({ is: "checking", marks: empty, words: [] });
  useEffect(() => {
    if (text === undefined || !may) return;
    setChecked((old) => ({ ...old, is: "checking" }));
    const stop = new AbortController();
    const timer = setTimeout(() => {
      api.post("/policies/validate", { params: inOrg(org), ...asYaml(text), signal: stop.signal }).then(
        (found) => setChecked({ is: "valid", marks: marksOf(found), words: found.explanation }),
        (error: unknown) => {
          if (stop.signal.aborted) return;
          const wrong = error instanceof ApiError && error.status === 400;
          const details =
            wrong && error.details.length > 0
              ? error.details
              : [{ field: "document", message: (error as Error).message }];
          setChecked((old) => ({
            ...old,
            is: wrong ? "wrong" : "failed",
            marks: wrong ? details.map(markOf) : empty,
          }));
        },
      );
    }, pause);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [org, text, may]);
  return checked;
}
