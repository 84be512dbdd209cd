import { type PointerEvent, useEffect, useRef, useState } from "react";
import { words } from "../../words/en";
import { Button } from "../Button";
import { duration } from "../format";
import { endOf, type Tree } from "./tree";
import type { View } from "./Waterfall";

const height = 48;

/** Minimap draws the whole trace. Dragging zooms into a part of it, a double click shows all again. */
export function Minimap({ tree, view, onView }: { tree: Tree; view: View | undefined; onView: (v?: View) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  useDrawing(canvas, tree);
  const length = tree.end - tree.start;
  const placeOf = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  const finish = () => {
    if (drag && Math.abs(drag.to - drag.from) > 0.005) {
      const [from, to] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
      onView({ from: tree.start + from * length, to: tree.start + to * length });
    }
    setDrag(undefined);
  };
  const shown = drag
    ? { from: Math.min(drag.from, drag.to), to: Math.max(drag.from, drag.to) }
    : view && { from: (view.from - tree.start) / length, to: (view.to - tree.start) / length };
  return (
    <div className="minimap">
      <div
        className="minimap-map"
        aria-hidden
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          const at = placeOf(event);
          setDrag({ from: at, to: at });
        }}
        onPointerMove={(event) => drag && setDrag({ ...drag, to: placeOf(event) })}
        onPointerUp={finish}
        onPointerCancel={() => setDrag(undefined)}
        onDoubleClick={() => onView(undefined)}
      >
        <canvas ref={canvas} height={height} />
        {shown && (
          <span
            className="minimap-view"
            style={{ insetInlineStart: `${100 * shown.from}%`, inlineSize: `${100 * (shown.to - shown.from)}%` }}
          />
        )}
      </div>
      <div className="minimap-times small faint">
        <span>{view ? `+${duration(view.from - tree.start)}` : "0"}</span>
        {view && (
          <Button look="quiet" onClick={() => onView(undefined)}>
            {words.waterfall.showAll}
          </Button>
        )}
        <span>{duration((view?.to ?? tree.end) - tree.start)}</span>
      </div>
    </div>
  );
}

// Draws when the trace, the width or the theme changes.
function useDrawing(canvas: React.RefObject<HTMLCanvasElement | null>, tree: Tree) {
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const redraw = () => draw(element, tree);
    const sizes = new ResizeObserver(redraw);
    sizes.observe(element);
    const themes = new MutationObserver(redraw);
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      sizes.disconnect();
      themes.disconnect();
    };
  }, [canvas, tree]);
}

function draw(canvas: HTMLCanvasElement, tree: Tree) {
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  if (!context || width === 0) return;
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colors = {
    generation: style.getPropertyValue("--span-generation"),
    tool: style.getPropertyValue("--span-tool"),
    decision: style.getPropertyValue("--span-decision"),
    other: style.getPropertyValue("--span-other"),
  };
  const failed = style.getPropertyValue("--danger");
  const length = tree.end - tree.start;
  const deepest = tree.nodes.reduce((most, n) => Math.max(most, n.depth), 0);
  const lane = Math.max(1, Math.min(8, (height - 4) / (deepest + 1)));
  for (const { span, depth } of tree.nodes) {
    context.fillStyle = span.failed ? failed : colors[span.kind];
    const x = (width * (span.start - tree.start)) / length;
    const y = 2 + ((depth * lane) % (height - 4));
    context.fillRect(x, y, Math.max(1, (width * (endOf(span) - span.start)) / length), Math.max(1, lane - 1));
  }
}
