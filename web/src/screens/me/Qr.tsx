import { useMemo } from "react";
import { encode } from "uqr";

/** Qr is a text as a picture that a phone reads. It is always dark on light: many readers want that. */
export function Qr({ text, label }: { text: string; label: string }) {
  const { data, size } = useMemo(() => encode(text, { border: 4 }), [text]);
  const path = data
    .flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : "")))
    .filter(Boolean)
    .join("");
  return (
    <svg className="qr" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shapeRendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
