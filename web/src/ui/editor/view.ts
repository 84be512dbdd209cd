// CodeMirror, loaded when an editor is first shown. Colours are those of the page, by the names of its tokens.
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  completionKeymap,
  startCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, type Text } from "@codemirror/state";
import { EditorView, highlightSpecialChars, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { helpAt, offersAt, placeAt, type Schema } from "./help";

/** Mark is something wrong at a place of the text, from 1. */
export interface Mark {
  line: number;
  column: number;
  severity: "error" | "warning" | "info";
  message: string;
  /** What to do about it. */
  fix?: string;
}

export interface EditorOptions {
  parent: HTMLElement;
  text: string;
  label: string;
  readOnly: boolean;
  nonce: string;
  onChange: (text: string) => void;
  schema: () => Schema | undefined;
}

export interface EditorHandle {
  setText: (text: string) => void;
  setMarks: (marks: readonly Mark[]) => void;
  setReadOnly: (on: boolean) => void;
  goTo: (line: number, column: number) => void;
  destroy: () => void;
}

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px" },
  ".cm-content": { caretColor: "var(--text)", paddingBlock: "8px" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused": { outline: "none" }, // its own parts would cover a ring: the frame has it
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-3)", border: "0" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    background: "var(--selected)",
  },
  ".cm-selectionMatch": { backgroundColor: "var(--hover)" },
  ".cm-tooltip": {
    color: "var(--text)",
    backgroundColor: "var(--raised)",
    border: "1px solid var(--border)",
    borderRadius: "var(--r-input)",
    boxShadow: "var(--shadow)",
    maxWidth: "min(440px, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    background: "var(--selected)",
    color: "var(--text)",
  },
  ".cm-completionDetail": { color: "var(--text-3)" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" },
  ".cm-diagnostic": { borderLeftColor: "var(--border-2)", padding: "4px 8px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--danger)" },
  ".cm-lintRange-error": { textDecoration: "underline wavy var(--danger)", backgroundImage: "none" },
  ".cm-lintRange-warning": { textDecoration: "underline wavy var(--hold)", backgroundImage: "none" },
  ".cm-lintRange-info": { textDecoration: "underline dotted var(--text-3)", backgroundImage: "none" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--link)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--text)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--text-3)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--text-2)" },
]);

// The lines above a place say where it is.
const linesOf = (doc: Text, to: number) => {
  const lines: string[] = [];
  for (let n = 1; n <= to; n++) lines.push(doc.line(n).text);
  return lines;
};

const placeOf = (state: EditorState, pos: number) => {
  const line = state.doc.lineAt(pos);
  return placeAt(linesOf(state.doc, line.number), line.number - 1, pos - line.from);
};

const completionsOf = (schema: EditorOptions["schema"]) => (context: CompletionContext) => {
  const root = schema();
  const word = context.matchBefore(/[\w.-]*/);
  if (!root || (!context.explicit && (!word || word.from === word.to))) return null;
  const place = placeOf(context.state, context.pos);
  const options: Completion[] = offersAt(root, place).map((o) => ({
    label: o.label,
    type: o.kind === "name" ? "function" : o.kind === "member" ? "property" : "enum",
    ...(o.detail && o.detail !== o.label ? { detail: o.detail } : {}),
    ...(o.help ? { info: o.help } : {}),
    ...(o.kind === "member" ? { apply: `${o.label}: ` } : {}),
  }));
  if (options.length === 0) return null;
  const text = word?.text ?? "";
  // Behind a dot of a condition only the last part is being written.
  const from = place.path.at(-1) === "when" ? (word?.from ?? 0) + text.lastIndexOf(".") + 1 : word?.from;
  return { from: from ?? context.pos, options, validFor: /^[\w-]*$/ };
};

const hoverOf = (schema: EditorOptions["schema"]) =>
  hoverTooltip((view, pos) => {
    const root = schema();
    const word = view.state.wordAt(pos);
    const help = root && word && helpAt(root, placeOf(view.state, pos), view.state.sliceDoc(word.from, word.to));
    if (!help || !word) return null;
    return { pos: word.from, end: word.to, create: () => ({ dom: tip(help.title, help.text) }) };
  });

function tip(title: string, text: string): HTMLElement {
  const box = document.createElement("div");
  box.className = "editor-tip";
  const head = document.createElement("code");
  head.textContent = title;
  const body = document.createElement("p");
  body.textContent = text;
  box.append(head, body);
  return box;
}

const fromOutside = Annotation.define<boolean>();

// Browsers join lines with styles of their own when something is typed over a selection, which the content security
// policy reports. What replaces a selection is therefore written here.
const typedOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const text = event.inputType === "insertText" ? event.data : null;
    const plain = !view.composing && !event.isComposing && !view.state.readOnly;
    if (text === null || !plain || (view.state.selection.main.empty && !text.includes("\n"))) return false;
    view.dispatch(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    event.preventDefault();
    return true;
  },
});

/** makeEditor shows a text that can be written. Tab leaves it. */
export function makeEditor(options: EditorOptions): EditorHandle {
  const readOnly = new Compartment();
  const locked = (on: boolean) => [EditorState.readOnly.of(on), EditorView.editable.of(!on)];
  const view = new EditorView({
    parent: options.parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        EditorView.cspNonce.of(options.nonce),
        EditorView.contentAttributes.of({ "aria-label": options.label, tabindex: "0", "aria-multiline": "true" }),
        lineNumbers(),
        highlightSpecialChars(),
        history(),
        indentUnit.of("  "),
        yaml(),
        syntaxHighlighting(colours),
        highlightSelectionMatches(),
        search({ top: true }),
        autocompletion({ override: [completionsOf(options.schema)], icons: false }),
        hoverOf(options.schema),
        keymap.of([
          { key: "Alt-/", run: startCompletion },
          ...completionKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...lintKeymap,
          ...defaultKeymap,
        ]),
        EditorView.lineWrapping,
        typedOver,
        look,
        readOnly.of(locked(options.readOnly)),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged || update.transactions.some((t) => t.annotation(fromOutside))) return;
          options.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  const at = (line: number, column: number) => {
    const { doc } = view.state;
    const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
    return Math.min(found.from + Math.max(column - 1, 0), found.to);
  };
  return {
    setText: (text) => {
      if (text === view.state.doc.toString()) return;
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        annotations: fromOutside.of(true),
      });
    },
    setMarks: (marks) =>
      view.dispatch(
        setDiagnostics(
          view.state,
          marks.map((m) => diagnosticOf(view.state, at, m)),
        ),
      ),
    setReadOnly: (on) => view.dispatch({ effects: readOnly.reconfigure(locked(on)) }),
    goTo: (line, column) => {
      view.dispatch({ selection: { anchor: at(line, column) }, scrollIntoView: true });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

function diagnosticOf(state: EditorState, at: (line: number, column: number) => number, m: Mark): Diagnostic {
  const from = at(m.line, m.column);
  const line = state.doc.lineAt(from);
  const word = state.wordAt(from);
  const to = Math.max(word?.to ?? from, Math.min(from + 1, line.to));
  return { from, to, severity: m.severity, message: m.fix ? `${m.message}\n${m.fix}` : m.message };
}
