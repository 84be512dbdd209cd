import { Link } from "@tanstack/react-router";
import {
  CircleCheck,
  CircleDashed,
  type LucideIcon,
  MessageCircleQuestionMark,
  OctagonX,
  Signal,
  SignalHigh,
  SignalLow,
  SignalMedium,
  SquarePause,
  TriangleAlert,
} from "lucide-react";
import { words } from "../words/en";
import "./text.css";

export type Verdict = "allow" | "ask" | "hold" | "deny";
export const verdicts: Verdict[] = ["allow", "ask", "hold", "deny"];

const icons: Record<Verdict, LucideIcon> = {
  allow: CircleCheck,
  ask: MessageCircleQuestionMark,
  hold: SquarePause,
  deny: OctagonX,
};

interface VerdictProps {
  verdict: string;
  /** The entry that it opens. */
  index?: number | undefined;
  /** What a shadow policy would have said. */
  shadow?: boolean;
}

/** VerdictBadge is an icon, a word and a colour, and leads to its entry. */
export function VerdictBadge({ verdict, index, shadow }: VerdictProps) {
  const known = verdicts.find((v) => v === verdict);
  const altered = verdict === "altered"; // the log does not prove what is stored
  const Icon = known ? icons[known] : altered ? TriangleAlert : CircleDashed;
  const word = known ? words.verdicts[known] : altered ? words.ui.altered : verdict;
  const label = shadow ? words.ui.would(word) : word;
  const body = (
    <>
      <Icon size={14} aria-hidden />
      {label}
    </>
  );
  const className = `badge ${known ?? (altered ? "deny" : "neutral")}${shadow ? " shadowed" : ""}`;
  if (index === undefined) return <span className={className}>{body}</span>;
  return (
    <Link
      className={className}
      to="/audit/$index"
      params={{ index: String(index) }}
      aria-label={words.ui.openEntry(label, index)}
    >
      {body}
    </Link>
  );
}

/** ProofLink leads to the proof of an entry: ◈ #1207. */
export function ProofLink({ index }: { index: number }) {
  return (
    <Link
      className="proof-link"
      to="/audit/$index"
      params={{ index: String(index) }}
      hash="proof"
      aria-label={words.ui.proofOf(index)}
    >
      ◈ #{index}
    </Link>
  );
}

/** StatusBadge is a word about a state that is no verdict. */
export function StatusBadge({ word, error }: { word: string; error?: boolean }) {
  return (
    <span className={`badge ${error ? "error" : "neutral"}`}>
      {error && <TriangleAlert size={14} aria-hidden />}
      {word}
    </span>
  );
}

const risks: Record<string, LucideIcon> = { low: SignalLow, medium: SignalMedium, high: SignalHigh, critical: Signal };

/** RiskBadge is how risky a request looks. */
export function RiskBadge({ risk }: { risk: string }) {
  const Icon = risks[risk] ?? SignalLow;
  return (
    <span className="badge neutral">
      <Icon size={14} aria-hidden />
      {words.ui.risks[risk] ?? risk}
    </span>
  );
}
