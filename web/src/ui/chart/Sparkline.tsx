import "./chart.css";

/** Sparkline shows how a number went; its label says it in words. */
export function Sparkline({ values, label }: { values: number[]; label: string }) {
  const most = Math.max(1, ...values);
  const step = 100 / Math.max(1, values.length);
  return (
    <svg className="sparkline" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label={label}>
      {values.map((v, i) => {
        const height = v === 0 ? 1 : Math.max(2, (v / most) * 20);
        return <rect key={i} x={i * step} y={20 - height} width={step * 0.8} height={height} />;
      })}
    </svg>
  );
}
