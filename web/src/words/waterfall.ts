/** Words of the waterfall of spans. */
export const waterfall = {
  below: (n: number) => (n === 1 ? "1 span" : `${n.toLocaleString("en")} spans`),
  error: "Error",
  fold: "Fold",
  kinds: { generation: "Generation", tool: "Tool call", decision: "Decision", other: "Other" },
  noEnd: "no end",
  noSpan: (time: string) => `no span, ${time}`,
  nothingFound: "No span matches.",
  orphans: (n: number) => `Parent not received (${n.toLocaleString("en")})`,
  showAll: "Show all",
  skewed: "clock differs",
  unfold: "Unfold",
};
