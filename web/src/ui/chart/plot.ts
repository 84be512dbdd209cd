// The chart library, loaded when a screen first draws a chart.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Lane, stack, widthOf } from "./lanes";

export interface PlotOptions {
  lane: Lane;
  buckets: number[];
  /** Whether the last bucket still grows. */
  unfinished: boolean;
  height: number;
  format: (n: number) => string;
  onSelect?: ((from: number, until: number) => void) | undefined;
  onHover: (index: number | null) => void;
}

export interface Plot {
  resize: (width: number) => void;
  hover: (index: number) => void;
  destroy: () => void;
}

const font = "11px system-ui, sans-serif";

// The day at midnight, the hour else.
const clockOf = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayOf = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const times = (_u: uPlot, splits: number[]) =>
  splits.map((s) => {
    const at = new Date(s * 1000);
    return at.getHours() === 0 && at.getMinutes() === 0 ? dayOf.format(at) : clockOf.format(at);
  });

const colorOf = (element: HTMLElement, token: string) =>
  getComputedStyle(element).getPropertyValue(`--${token}`).trim();

/** top is what an axis covers: from zero to a little above the largest value, however small that is. */
export const top = (max: number | null): [number, number] => [0, max && max > 0 ? max * 1.05 : 1];

// Whole numbers are counted in whole steps: there is no half denial.
export const wholeSteps = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();
const stepsOf = (lane: Lane) =>
  lane.series.every((s) => s.values.every((v) => Number.isNaN(v) || Number.isInteger(v))) ? { incrs: wholeSteps } : {};

/** roomOf is how far apart, at least, the labels of an axis are. One step is 2.5 times the one before at most: so, also
 * in a low chart, another one than zero always fits. */
export const roomOf = (height: number) => Math.min(32, height / 2.5);

/** draw makes a chart in the element. */
export function draw(element: HTMLElement, options: PlotOptions): Plot {
  const { lane, buckets } = options;
  const text = colorOf(element, "text-3");
  const grid = colorOf(element, "border");
  const bucket = widthOf(buckets);
  const drawn = lane.kind === "bars" ? stack(lane.series) : lane.series;
  const plot = new uPlot(
    {
      width: element.clientWidth || 300,
      height: options.height,
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: options.onSelect !== undefined, y: false, setScale: false },
        points: { show: lane.kind === "line" },
      },
      scales: {
        x: { time: true, range: () => [buckets[0] ?? 0, (buckets.at(-1) ?? 0) + bucket] },
        y: { range: (_u, _min, max) => top(max) },
      },
      axes: [
        { stroke: text, grid: { show: false }, ticks: { stroke: grid }, size: 28, space: 64, font, values: times },
        {
          stroke: text,
          grid: { stroke: grid },
          ticks: { show: false },
          size: 56,
          space: (_u, _axis, _min, _max, height) => roomOf(height),
          font,
          ...stepsOf(lane),
          values: (_u, splits) => splits.map(options.format),
        },
      ],
      series: [
        {},
        ...drawn.map((s) => ({
          label: s.name,
          stroke: colorOf(element, s.color),
          width: lane.kind === "line" ? 2 : 0,
          points: { show: false },
          spanGaps: true,
          ...(lane.kind === "bars"
            ? {
                fill: colorOf(element, s.color),
                paths: (uPlot.paths.bars as NonNullable<typeof uPlot.paths.bars>)({ size: [0.8, 40], align: 1 }),
              }
            : {}),
        })),
      ],
      hooks: {
        setCursor: [(u) => options.onHover(u.cursor.idx ?? null)],
        setSelect: [(u) => select(u, bucket, options)],
        draw: [(u) => options.unfinished && hatch(u, buckets, bucket)],
      },
    },
    [buckets, ...drawn.map((s) => s.values.map((v) => (Number.isNaN(v) ? null : v)))],
    element,
  );
  if (options.onSelect) chooseByClick(plot, bucket, options);
  return {
    resize: (width) => plot.setSize({ width, height: options.height }),
    hover: (i) => plot.setCursor({ left: plot.valToPos((buckets[i] ?? 0) + bucket / 2, "x"), top: 10 }),
    destroy: () => plot.destroy(),
  };
}

// A click chooses one bar; what moved was a drag.
function chooseByClick(u: uPlot, bucket: number, options: PlotOptions) {
  let pressedAt = 0;
  u.over.addEventListener("mousedown", (e) => {
    pressedAt = e.clientX;
  });
  u.over.addEventListener("click", (e) => {
    const at = options.buckets[u.cursor.idx ?? -1];
    if (at !== undefined && Math.abs(e.clientX - pressedAt) < 4) options.onSelect?.(at, at + bucket);
  });
}

function select(u: uPlot, bucket: number, options: PlotOptions) {
  if (u.select.width < 4) return;
  const from = Math.floor(u.posToVal(u.select.left, "x") / bucket) * bucket;
  const until = Math.ceil(u.posToVal(u.select.left + u.select.width, "x") / bucket) * bucket;
  options.onSelect?.(from, until);
}

// The bucket that still grows is hatched: it is no fall.
function hatch(u: uPlot, buckets: number[], bucket: number) {
  const last = buckets.at(-1);
  if (last === undefined) return;
  const from = u.valToPos(last, "x", true);
  const to = Math.min(u.valToPos(last + bucket, "x", true), u.bbox.left + u.bbox.width);
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(from, u.bbox.top, to - from, u.bbox.height);
  u.ctx.clip();
  u.ctx.strokeStyle = colorOf(u.root, "surface");
  u.ctx.lineWidth = 2;
  for (let x = from - u.bbox.height; x < to; x += 8) {
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top + u.bbox.height);
    u.ctx.lineTo(x + u.bbox.height, u.bbox.top);
    u.ctx.stroke();
  }
  u.ctx.restore();
}
