import { type KeyboardEvent, memo, useCallback, useDeferredValue, useMemo, useRef, useState } from "react";
import { Exact, type Json, writeExact } from "../../api/exact";
import { words } from "../../words/en";
import { AgentText } from "../AgentText";
import { CopyButton } from "../CopyButton";
import { bytes, count } from "../format";
import { isBase64, isPlainName, isSecretName, matches, type Row, rowsOf, textOf, toggle, untouched } from "./tree";
import "./json.css";

const longString = 200;

/** JsonViewer shows a value that a client sent: exact, folded, searchable, and one row for one member. */
export function JsonViewer({ value, label }: { value: Json; label: string }) {
  const [shown, setShown] = useState(untouched);
  const [search, setSearch] = useState("");
  const wanted = useDeferredValue(search);
  const rows = useMemo(() => rowsOf(value, shown), [value, shown]);
  const found = useMemo(() => new Set(matches(value, wanted)), [value, wanted]);
  const list = useRef<HTMLDivElement>(null);
  const onToggle = useCallback((row: Row) => setShown((before) => toggle(before, row)), []);
  return (
    <div className="json">
      <div className="row json-bar">
        <input
          className="input json-search"
          type="search"
          placeholder={words.ui.find}
          aria-label={words.ui.findIn(label)}
          value={search}
          onChange={(e) => setSearch(e.target.value)}
        />
        {search && <span className="small faint">{words.ui.matches(found.size)}</span>}
        <span className="grow" />
        <CopyButton text={() => writeExact(value)} label={words.ui.copyJson} />
      </div>
      <div ref={list} role="tree" aria-label={label} className="json-rows" onKeyDown={(e) => move(e, list.current)}>
        {rows.map((row, i) => (
          <JsonRow key={row.path} row={row} first={i === 0} found={found.has(row.path)} onToggle={onToggle} />
        ))}
      </div>
    </div>
  );
}

// Arrows move between rows; left and right fold, as in any tree.
function move(event: KeyboardEvent, list: HTMLElement | null) {
  const items = [...(list?.querySelectorAll<HTMLElement>('[role="treeitem"]') ?? [])];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const current = items[at];
  if (!current) return;
  const open = current.getAttribute("aria-expanded");
  if (event.key === "ArrowDown") items[at + 1]?.focus();
  else if (event.key === "ArrowUp") items[at - 1]?.focus();
  else if ((event.key === "ArrowRight" && open === "false") || (event.key === "ArrowLeft" && open === "true"))
    current.click();
  else if (event.key === "Enter" || event.key === " ") current.click();
  else return;
  event.preventDefault();
}

interface RowProps {
  row: Row;
  first: boolean;
  found: boolean;
  onToggle: (row: Row) => void;
}

// A row is the same while its member and its fold are: rows are made anew with each change.
const sameRow = (a: RowProps, b: RowProps) =>
  a.row.path === b.row.path &&
  a.row.value === b.row.value &&
  a.row.open === b.row.open &&
  a.row.rest === b.row.rest &&
  a.first === b.first &&
  a.found === b.found &&
  a.onToggle === b.onToggle;

const JsonRow = memo(function JsonRow({ row, first, found, onToggle }: RowProps) {
  const folds = row.members !== undefined || row.rest !== undefined;
  return (
    <div
      role="treeitem"
      tabIndex={first ? 0 : -1}
      aria-level={row.depth + 1}
      aria-expanded={row.members === undefined ? undefined : row.open}
      aria-selected={false}
      className={`json-row${found ? " found" : ""}${folds ? " folds" : ""}`}
      style={{ marginInlineStart: row.depth * 16 + 4 }}
      onClick={folds ? () => onToggle(row) : undefined}
      onKeyDown={() => {}}
    >
      {row.members !== undefined && <span aria-hidden>{row.open ? "▾ " : "▸ "}</span>}
      {row.name !== undefined && <Name name={row.name} />}
      {row.rest === undefined ? (
        <>
          <Value row={row} />
          <span className="json-copy">
            <CopyButton
              text={() => (row.members === undefined ? textOf(row.value) : writeExact(row.value))}
              what={words.ui.value}
            />
          </span>
        </>
      ) : (
        <span className="json-more">{words.ui.moreMembers(count(row.rest))}</span>
      )}
    </div>
  );
}, sameRow);

function Name({ name }: { name: string | number }) {
  const plain = typeof name === "number" || isPlainName(name);
  return <span className="json-name">{plain ? <bdi>{name}</bdi> : <Quoted text={name} />}: </span>;
}

function Quoted({ text }: { text: string }) {
  return (
    <>
      "<AgentText text={text} json fold={longString} />"
    </>
  );
}

function Value({ row }: { row: Row }) {
  const [revealed, setRevealed] = useState(false);
  const { value } = row;
  if (row.members !== undefined) {
    return <span className="faint">{words.ui.members(Array.isArray(value), count(row.members))}</span>;
  }
  if (typeof value !== "string")
    return <span className="json-plain">{value instanceof Exact ? value.text : String(value)}</span>;
  if (value === "[redacted]") return <span className="badge neutral">{words.ui.redacted}</span>;
  if (isSecretName(row.name) && !revealed) return <Reveal name={`••• ${words.ui.reveal}`} onReveal={setRevealed} />;
  if (isBase64(value) && !revealed) {
    return (
      <span className="faint">
        {words.ui.base64(bytes(Math.floor((value.length * 3) / 4)))}{" "}
        <Reveal name={words.ui.showBase64} onReveal={setRevealed} />
      </span>
    );
  }
  return <Text text={value} />;
}

function Reveal({ name, onReveal }: { name: string; onReveal: (revealed: boolean) => void }) {
  return (
    <button type="button" className="unfold" onClick={() => onReveal(true)}>
      {name}
    </button>
  );
}

// A string is one line; with its line breaks it is shown in a frame, where it cannot pass for rows.
function Text({ text }: { text: string }) {
  const [framed, setFramed] = useState(false);
  return (
    <>
      <span className="json-string">
        <Quoted text={text} />
      </span>
      {/[\n\r]/.test(text) && (
        <>
          {" "}
          <button type="button" className="unfold" aria-expanded={framed} onClick={() => setFramed(!framed)}>
            {framed ? words.ui.asLine : words.ui.asText}
          </button>
        </>
      )}
      {framed && (
        <span className="json-frame">
          <AgentText text={text} block />
        </span>
      )}
    </>
  );
}

/** JsonValue shows one value: short ones in the line, objects and lists as a tree. */
export function JsonValue({ value, name }: { value: Json; name: string }) {
  if (value !== null && typeof value === "object" && !(value instanceof Exact)) {
    return <JsonViewer value={value} label={name} />;
  }
  return <Value row={{ path: name, depth: 0, name, value }} />;
}
