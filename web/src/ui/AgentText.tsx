import { memo, useMemo, useState } from "react";
import { words } from "../words/en";
import { CopyButton } from "./CopyButton";
import { cut, jsonPieces, nameOf, type Piece, pieces, spoofedHosts } from "./clean";
import { bytes } from "./format";
import "./text.css";

// How much is shown: characters, and pieces, each of which is a node of the page.
const oneLine = { characters: 400, pieces: 40 };
const folded = { characters: 2000, pieces: 200 };
const step = { characters: 100_000, pieces: 2000 };

interface AgentTextProps {
  text: string;
  /** Shown on one line, cut by the browser. */
  line?: boolean;
  /** Cut when long, and never to be unfolded: within links and labels. */
  short?: boolean;
  /** Keeps line breaks, in a fixed-width font. */
  block?: boolean;
  /** Shown as JSON writes it, so that no string looks like more than itself. */
  json?: boolean;
  /** Folded beyond this many characters, if not 2,000. */
  fold?: number;
  copy?: boolean;
}

/** AgentText shows what a client wrote: as text alone, with hidden characters visible, and folded when long. */
export const AgentText = memo(function AgentText(props: AgentTextProps) {
  const { text, line, short, block, json, fold, copy } = props;
  const [steps, setSteps] = useState(0);
  const { parts, whole } = useMemo(() => {
    const first = line || short ? oneLine : { ...folded, characters: fold ?? folded.characters };
    const most = steps > 0 ? { characters: step.characters * steps, pieces: step.pieces * steps } : first;
    return partsOf(text, most, json);
  }, [text, line, short, json, fold, steps]);
  const hosts = line || short ? [] : spoofedHosts(cut(text, step.characters));
  return (
    <span className={["agent-text", line && "one-line", block && "block"].filter(Boolean).join(" ")}>
      <bdi dir="auto">
        {parts.map((piece, i) =>
          "text" in piece ? (
            piece.text
          ) : (
            <span key={i} className="code-point" title={words.ui.hiddenCharacter}>
              {nameOf(piece)}
            </span>
          ),
        )}
        {!whole && "…"}
      </bdi>
      {hosts.map(({ host, ascii }) => (
        <span key={host} className="punycode">
          {words.ui.reallyHost(ascii)}
        </span>
      ))}
      {!line && !short && <Unfold text={text} whole={whole} steps={steps} onSteps={setSteps} />}
      {copy && <CopyButton text={text} />}
    </span>
  );
});

/** ToolName is a tool and its server, each a text of its own: a tool cannot name another server. */
export function ToolName({ server, tool, line }: { server?: string | undefined; tool: string; line?: boolean }) {
  return (
    <span className={line ? "one-line tool-line" : undefined}>
      {server && (
        <span className="muted">
          <AgentText text={server} short />
          <span className="faint" aria-hidden>
            {" › "}
          </span>
          <span className="hidden-text"> </span>
        </span>
      )}
      <AgentText text={tool} short />
    </span>
  );
}

function partsOf(text: string, most: { characters: number; pieces: number }, json = false) {
  const beginning = cut(text, most.characters);
  const all: Piece[] = json ? jsonPieces(beginning) : pieces(beginning);
  const whole = beginning.length === text.length && all.length <= most.pieces;
  return { parts: all.length > most.pieces ? all.slice(0, most.pieces) : all, whole };
}

interface UnfoldProps {
  text: string;
  whole: boolean;
  steps: number;
  onSteps: (steps: number) => void;
}

function Unfold({ text, whole, steps, onSteps }: UnfoldProps) {
  if (whole && steps === 0) return null;
  const label = whole
    ? words.ui.showLess
    : text.length > step.characters * (steps + 1)
      ? words.ui.showMoreOf(bytes(step.characters), bytes(text.length))
      : words.ui.showAll(bytes(text.length));
  return (
    <button
      type="button"
      className="unfold"
      onClick={(event) => {
        event.stopPropagation();
        onSteps(whole ? 0 : steps + 1);
      }}
    >
      {label}
    </button>
  );
}
