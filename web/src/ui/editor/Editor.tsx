import { type Ref, useEffect, useImperativeHandle, useRef, useState } from "react";
import { ErrorPanel, SkeletonLines } from "../states";
import type { Schema } from "./help";
import type { EditorHandle, Mark } from "./view";
import "./editor.css";

export type { Mark } from "./view";

export interface EditorRef {
  goTo: (line: number, column: number) => void;
}

interface EditorProps {
  text: string;
  label: string;
  onChange?: (text: string) => void;
  readOnly?: boolean;
  marks?: readonly Mark[];
  schema?: Schema | undefined;
  /** The line to go to. */
  line?: number | undefined;
  /** How many lines it has room for at least. */
  lines?: number;
  ref?: Ref<EditorRef>;
}

const noMarks: readonly Mark[] = [];

/** Editor edits a text of several lines, with marks where something is wrong. It is loaded when it is first shown. */
export function Editor(props: EditorProps) {
  const { text, label, onChange, readOnly = false, marks = noMarks, schema, line, lines = 16, ref } = props;
  const parent = useRef<HTMLDivElement>(null);
  const handle = useRef<EditorHandle>(undefined);
  const latest = useRef({ text, onChange, schema, readOnly, marks });
  latest.current = { text, onChange, schema, readOnly, marks };
  const [state, setState] = useState<"loading" | "ready" | { failed: unknown }>("loading");
  useEffect(() => {
    let gone = false;
    import("./view").then(
      ({ makeEditor }) => {
        if (gone || !parent.current) return;
        const now = latest.current;
        handle.current = makeEditor({
          parent: parent.current,
          text: now.text,
          label,
          readOnly: now.readOnly,
          nonce: document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "",
          onChange: (next) => latest.current.onChange?.(next),
          schema: () => latest.current.schema,
        });
        handle.current.setMarks(now.marks);
        setState("ready");
      },
      (error: unknown) => !gone && setState({ failed: error }),
    );
    return () => {
      gone = true;
      handle.current?.destroy();
      handle.current = undefined;
    };
  }, [label]);
  useEffect(() => {
    handle.current?.setText(text);
  }, [text]);
  useEffect(() => {
    handle.current?.setMarks(marks);
  }, [marks]);
  useEffect(() => {
    handle.current?.setReadOnly(readOnly);
  }, [readOnly]);
  useEffect(() => {
    if (state === "ready" && line !== undefined) handle.current?.goTo(line, 1);
  }, [state, line]);
  useImperativeHandle(ref, () => ({ goTo: (line, column) => handle.current?.goTo(line, column) }), []);
  return (
    <div className="editor" style={{ minBlockSize: lines * 20 + 16 }}>
      {state === "loading" && <SkeletonLines lines={lines} />}
      {typeof state === "object" && <ErrorPanel error={state.failed} />}
      <div ref={parent} className="editor-text" />
    </div>
  );
}
