import { useState } from "react";
import { words } from "../../words/en";
import { Button } from "../Button";
import "./proof.css";

const w = words.proof;

/** Box is a node of a hash tree. */
export interface Box {
  label: string;
  /** Hex. */
  hash: string;
  /** Whether this browser saw all that is below it before. */
  seen?: boolean;
}

/** Stage is two nodes beside each other: one on the way, computed here, and one that was given. */
export interface Stage {
  left: Box;
  right: Box;
  way: "left" | "right";
}

const shownAtEnds = 3;

/** PathTree draws the way from a leaf to the root of a hash tree. Stages go from the root down. */
export function PathTree({ root, stages, label }: { root: Box; stages: Stage[]; label: string }) {
  const [whole, setWhole] = useState(false);
  const folds = !whole && stages.length > 2 * shownAtEnds + 1;
  const top = folds ? stages.slice(0, shownAtEnds) : stages;
  const bottom = folds ? stages.slice(-shownAtEnds) : [];
  return (
    <div className="path-tree" role="group" aria-label={label}>
      <div className="path-row">
        <TreeBox box={root} computed root />
      </div>
      {top.map((stage, i) => (
        <StageRow key={i} stage={stage} from={top[i - 1]?.way ?? "middle"} />
      ))}
      {folds && (
        <div className="path-fold small muted">
          {w.levels(stages.length - 2 * shownAtEnds)}{" "}
          <Button look="quiet" onClick={() => setWhole(true)}>
            {w.showLevels}
          </Button>
        </div>
      )}
      {bottom.map((stage, i) => (
        <StageRow key={i} stage={stage} from={bottom[i - 1]?.way} />
      ))}
      <p className="small faint">{w.treeHelp}</p>
    </div>
  );
}

const places = { left: 25, middle: 50, right: 75 };

function StageRow({ stage, from }: { stage: Stage; from: keyof typeof places | undefined }) {
  return (
    <>
      {from && (
        <svg className="path-lines" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden>
          <title>{w.tree}</title>
          {(["left", "right"] as const).map((side) => (
            <line
              key={side}
              className={side === stage.way ? "computed" : "given"}
              x1={places[from]}
              y1={0}
              x2={places[side]}
              y2={20}
            />
          ))}
        </svg>
      )}
      <div className="path-row">
        <TreeBox box={stage.left} computed={stage.way === "left"} />
        <TreeBox box={stage.right} computed={stage.way === "right"} />
      </div>
    </>
  );
}

function TreeBox({ box, computed, root }: { box: Box; computed: boolean; root?: boolean }) {
  return (
    <div className={["path-box", computed ? "computed" : "given", root && "path-root"].filter(Boolean).join(" ")}>
      <span className="path-label">{box.label}</span>
      <code className="faint" title={box.hash}>
        {box.hash.slice(0, 4)}…{box.hash.slice(-4)}
      </code>
      <span className="small faint">
        {computed ? w.computed : w.given}
        {box.seen && ` · ${w.seenMark}`}
      </span>
    </div>
  );
}
