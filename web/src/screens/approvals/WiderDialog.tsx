import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { type Json, writeExact } from "../../api/exact";
import { useOrg } from "../../app/org";
import { Button, Choice, Field } from "../../ui/Button";
import { clean } from "../../ui/clean";
import { Dialog } from "../../ui/Dialog";
import { Form, Problem } from "../../ui/form";
import { JsonValue } from "../../ui/json/JsonViewer";
import { approvals as w } from "../../words/approvals";
import { words } from "../../words/en";
import type { Given } from "./answer";
import { Late, noteWrong } from "./NoteDialog";
import { type Bound, type Check, firstBounds, type Leaf, leavesOf, patternOf } from "./pattern";
import { previewQuery, type Scope, type Shown } from "./queries";

interface WiderProps {
  request: Shown;
  noted: boolean;
  /** Why no answer is taken any more. */
  late: string | undefined;
  onClose: () => void;
  onGive: (given: Given) => void;
}

const most = { minutes: 480, uses: 1000 };
const wholeOf = (text: string, to: number) => {
  const n = /^\d{1,4}$/.test(text.trim()) ? Number(text) : 0;
  return n >= 1 && n <= to ? n : undefined;
};

/** WiderDialog gives a standing approval, after the server has said what it permits. */
export function WiderDialog({ request: r, noted, late, onClose, onGive }: WiderProps) {
  const org = useOrg();
  const leaves = useMemo(() => leavesOf((r.arguments ?? {}) as Record<string, Json>), [r.arguments]);
  const kinds = [...(leaves ? ["pattern" as const] : []), ...r.scopes.map((s) => s.kind).filter((k) => k !== "once")];
  const [kind, setKind] = useState<Scope["kind"]>(kinds[0] ?? "minutes");
  const [minutes, setMinutes] = useState("60");
  const [uses, setUses] = useState("5");
  const [bounds, setBounds] = useState(() => firstBounds(leaves ?? []));
  const [note, setNote] = useState("");
  const limits = { minutes: wholeOf(minutes, most.minutes), uses: wholeOf(uses, most.uses) };
  const pattern = kind === "pattern" && leaves ? patternOf(leaves, bounds) : undefined;
  const scope = scopeOf(kind, limits, pattern);
  const rested = useRested(scope);
  const preview = useQuery(previewQuery(org.id, r.delegationId, rested));
  // Only what the server said about exactly these bounds counts.
  const permits = scope && rested && written(scope) === written(rested) ? preview.data?.permits : undefined;
  const refused = late ?? (permits === undefined ? w.previewFirst : noteWrong(note, noted));
  const give = () => {
    if (refused || !scope) return;
    onGive({ is: "approve", scope, ...(note.trim() ? { note: note.trim() } : {}) });
  };
  return (
    <Dialog open onClose={onClose} title={w.widerTitle} wide>
      <Form onSubmit={give}>
        <Choice
          label={w.widerKind}
          value={kind}
          onChange={setKind}
          options={kinds.map((k) => [k, w.kinds[k] ?? k] as const)}
        />
        {kind === "pattern" && leaves && <Bounds leaves={leaves} bounds={bounds} onChange={setBounds} />}
        {kind === "pattern" && !pattern && <p className="wrong-text">{w.boundWrong}</p>}
        <div className="approval-limits">
          <Field
            label={w.minutes}
            inputMode="numeric"
            value={minutes}
            wrong={limits.minutes ? undefined : w.numberWrong(most.minutes)}
            onChange={(e) => setMinutes(e.target.value)}
          />
          <Field
            label={w.uses}
            inputMode="numeric"
            value={uses}
            wrong={limits.uses ? undefined : w.numberWrong(most.uses)}
            onChange={(e) => setUses(e.target.value)}
          />
        </div>
        <Field
          label={w.noteField}
          hint={noted ? w.approveNoteHelp : w.noteOptional}
          value={note}
          onChange={(e) => setNote(e.target.value)}
          autoComplete="off"
        />
        <div className="notice approval-preview" role="status">
          <span className="grow">
            <span className="label">{w.preview}: </span>
            {permits ?? (preview.error ? "" : scope ? w.previewing : "–")}
          </span>
          <Problem error={permits === undefined ? preview.error : undefined} />
        </div>
        <Late text={late} />
        <div className="row end">
          <Button onClick={onClose}>{words.ui.cancel}</Button>
          <Button type="submit" look="primary" refused={refused}>
            {w.widerAct}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

const written = (scope: Scope) => writeExact(scope, 0);

function scopeOf(
  kind: Scope["kind"],
  { minutes, uses }: { minutes: number | undefined; uses: number | undefined },
  pattern: Record<string, unknown> | undefined,
): Scope | undefined {
  if (!minutes || !uses || (kind === "pattern" && !pattern)) return undefined;
  return { kind, minutes, uses, ...(kind === "pattern" && pattern ? { pattern } : {}) };
}

// The server is asked once typing rests.
function useRested(scope: Scope | undefined): Scope | undefined {
  const text = scope ? written(scope) : "";
  const [rested, setRested] = useState<Scope>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a scope is made anew with each render; its text says whether it changed
  useEffect(() => {
    const timer = setTimeout(() => setRested(scope), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return rested;
}

interface BoundsProps {
  leaves: Leaf[];
  bounds: Record<string, Bound>;
  onChange: (bounds: Record<string, Bound>) => void;
}

function Bounds({ leaves, bounds, onChange }: BoundsProps) {
  return (
    <fieldset className="approval-bounds">
      <legend className="label">{w.bounds}</legend>
      {leaves.map(({ path, value, checks }) => {
        const bound = bounds[path] ?? { check: "equals", text: "" };
        const set = (change: Partial<Bound>) => onChange({ ...bounds, [path]: { ...bound, ...change } });
        const name = clean(path);
        return (
          <div key={path} className="approval-bound">
            <Choice<Check>
              label={w.boundOf(name)}
              value={bound.check}
              onChange={(check) => set({ check })}
              options={checks.map((c) => [c, w.checks[c]] as const)}
            />
            {bound.check === "max" || bound.check === "prefix" ? (
              <Field label={w.limitOf(name)} value={bound.text} onChange={(e) => set({ text: e.target.value })} />
            ) : bound.check === "equals" ? (
              <div className="small approval-equals">
                <JsonValue value={value} name={path} />
              </div>
            ) : null}
          </div>
        );
      })}
    </fieldset>
  );
}
